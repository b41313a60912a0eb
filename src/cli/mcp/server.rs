//! What the Model Context Protocol asks of us: who we are, which tools there are, and their calls.

use super::args::{Args, schema};
use super::hub::Hub;
use super::tools::{TOOLS, Tool};
use super::{Asked, commands, files, screen, turns};
use crate::api::nearest::nearest;
use crate::api::{ApiError, ErrorCode};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Listed, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

/// What a model is told of all of it.
const INSTRUCTIONS: &str = "Commands run in a sandbox of this conversation, not on the person's machine. The person sees \
    each command and its output in hermes-tui, and shares the terminal of open_shared_screen. run_command is enough for \
    most work: it begins a turn by itself. Call end_turn when the request is done. When this connection ends, its open \
    turns and its commands end too.";

/// The server.
pub(super) struct Server(pub(super) Hub);

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        info.server_info = Implementation::new("hermes-tui", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(listed).collect()))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, rmcp::ErrorData> {
        // What is known, but not in this shape.
        Err(if request.method == "tools/call" {
            let message = "cannot call a tool: send its `name` as text and its `arguments` as an object";
            rmcp::ErrorData::invalid_params(message, None)
        } else {
            let message = format!("there is no method `{}`", request.method.escape_debug());
            rmcp::ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, message, None)
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let client = context.client_info().map(|client| client.name);
        let asked = Asked { client, cancel: context.ct.clone() };
        Ok(match self.call(request, &asked).await {
            Ok(mut value) => {
                if let Some(fields) = value.as_object_mut() {
                    fields.remove("schema");
                }
                CallToolResult::success(vec![ContentBlock::text(value.to_string())])
            }
            Err(error) => CallToolResult::error(vec![ContentBlock::text(told(&error))]),
        }
        .into())
    }
}

fn listed(tool: &Tool) -> Listed {
    let annotations = ToolAnnotations::new().read_only(tool.reads);
    Listed::new(tool.name, tool.about, schema(tool.params)).with_annotations(annotations)
}

/// An error as a model reads it: what was tried and why it failed, and what to do next.
fn told(error: &ApiError) -> String {
    json!({"error": {"code": error.code, "message": error.message, "hint": error.hint}}).to_string()
}

impl Server {
    async fn call(&self, request: CallToolRequestParams, asked: &Asked) -> Result<Value, ApiError> {
        let hub = &self.0;
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let hint = nearest(&request.name, known.iter().copied()).map_or_else(
                || format!("the tools are: {}", known.join(", ")),
                |name| format!("did you mean `{name}`?"),
            );
            let message = format!("there is no tool `{}`", request.name.escape_debug());
            return Err(ApiError::new(ErrorCode::Usage, message, hint));
        };
        let args = Args::check(tool.name, tool.params, request.arguments.unwrap_or_default())?;
        match tool.name {
            "begin_turn" => turns::begin(hub, &args, asked.client.clone()).await,
            "end_turn" => turns::end(hub, &args).await,
            "run_command" => commands::run(hub, &args, asked).await,
            "poll_command" => commands::poll(hub, &args, asked).await,
            "kill_command" => commands::end(hub, &args).await,
            "read_file" => files::read(hub, &args, asked).await,
            "write_file" => files::write(hub, &args, asked).await,
            "list_environments" => turns::list(hub, &args).await,
            "explain" => turns::explain(hub, &args).await,
            "open_shared_screen" => screen::open(hub, &args, asked).await,
            "send_keys" => screen::send_keys(hub, &args, asked).await,
            "read_screen" => screen::read(hub, &args, asked).await,
            other => {
                let message = format!("the tool {other} is listed, but nobody carries it out");
                Err(ApiError::new(ErrorCode::Internal, message, "please report it"))
            }
        }
    }
}
