# Tells hermes-tui (and other terminals) where prompts, commands and their output begin and end: OSC 133.
# For the end of ~/.bashrc, which login shells must read, too; bash 4.4 or newer. Prompts and hooks that are there already are kept.
if [[ $- == *i* && -z ${__htui_ran+x} ]]; then
    __htui_ran=0
    __htui_done() {
        local code=$?
        ((__htui_ran)) && printf '\e]133;D;%s\a' "$code"
        __htui_ran=0
        return "$code"
    }
    # Last, because others may write the prompt anew each time.
    __htui_prompt() {
        [[ $PS1 == *'133;A'* ]] || PS1='\[\e]133;A\a\]'$PS1'\[\e]133;B\a\]'
    }
    if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
        PROMPT_COMMAND=(__htui_done "${PROMPT_COMMAND[@]}" __htui_prompt)
    else
        PROMPT_COMMAND="__htui_done${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}"$'\n__htui_prompt'
    fi
    # An index that is worked out is the one way to note something from here without a process of its own.
    PS0=${PS0-}'${PS1:$((__htui_ran = 1, 0)):0}\e]133;C\a'
fi
