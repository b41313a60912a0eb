# Tells hermes-tui (and other terminals) where prompts, commands and their output begin and end: OSC 133.
# For the end of ~/.zshrc. Prompts and hooks that are there already are kept.
if [[ -o interactive && -z ${__htui_ran+x} ]]; then
    typeset -gi __htui_ran=0
    __htui_done() {
        local code=$?
        ((__htui_ran)) && printf '\e]133;D;%s\a' "$code"
        __htui_ran=0
        return $code
    }
    # Last, because others may write the prompt anew each time.
    __htui_prompt() {
        [[ $PS1 == *'133;A'* ]] || PS1=$'%{\e]133;A\a%}'$PS1$'%{\e]133;B\a%}'
    }
    __htui_begin() {
        __htui_ran=1
        printf '\e]133;C\a'
    }
    precmd_functions=(__htui_done $precmd_functions __htui_prompt)
    preexec_functions+=(__htui_begin)
fi
