# Tells hermes-tui (and other terminals) where prompts, commands and their output begin and end: OSC 133.
# For ~/.config/fish/conf.d/. From version 4 on fish does this by itself.
if status is-interactive; and not set -q __htui_marks; and string match -qr '^[0-3]\.' -- $version
    set -g __htui_marks 1
    function __htui_prompt --on-event fish_prompt
        printf '\e]133;A\a'
    end
    function __htui_begin --on-event fish_preexec
        printf '\e]133;C\a'
    end
    function __htui_done --on-event fish_postexec
        printf '\e]133;D;%s\a' $status
    end
end
