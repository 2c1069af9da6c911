# Completion of sbx-reap for fish. What may stand there the program says itself (sbx-reap complete).

function __sbx_reap_complete
    set -l current (commandline --current-token)
    set -l words (commandline --tokenize --cut-at-cursor --current-process) $current
    set -lx PATH $PATH /usr/sbin
    for line in (command sbx-reap complete $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                set -l before (string match --regex -- '^--[^=]*=' $current)
                __fish_complete_path (string replace --regex -- '^--[^=]*=' '' $current) | string replace --regex '^' -- "$before"
            case :directories
                set -l before (string match --regex -- '^--[^=]*=' $current)
                __fish_complete_directories (string replace --regex -- '^--[^=]*=' '' $current) | string replace --regex '^' -- "$before"
            case '*'
                echo $line
        end
    end
end

complete --command sbx-reap --no-files --arguments '(__sbx_reap_complete)'
