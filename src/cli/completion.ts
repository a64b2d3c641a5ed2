// cli: `actorflux completion`: prints a script with which a shell completes commands and their options.
import { command, isCommand, optionsOf, UsageError, type CommandSpec, type LoadableCommand } from './command.ts'

const SHELLS = ['bash', 'zsh', 'fish']

export const completionOf = (commands: readonly LoadableCommand[]): CommandSpec =>
  command({
    summary: 'print a script that completes commands in a shell',
    word: `<${SHELLS.join('|')}>`,
    notes: `To use it:

  bash    source <(actorflux completion bash)
  zsh     source <(actorflux completion zsh)
  fish    actorflux completion fish | source`,
    async run({ word }, io) {
      if (!SHELLS.includes(word)) throw new UsageError(`completion needs a shell: ${SHELLS.join(', ')}`)
      const following = await wordsOf(commands)
      if (word === 'fish') return io.out(fishScript(following))
      if (word === 'zsh') io.out('autoload -U +X bashcompinit && bashcompinit')
      io.out(bashScript(following))
    },
  })

/** Words that may follow words: of nothing, the first words; of a first word, the second ones, or options. */
type Following = ReadonlyMap<string, readonly string[]>

async function wordsOf(commands: readonly LoadableCommand[]): Promise<Following> {
  const following = new Map([['', ['--help', '--version', ...commands.map(({ name }) => name).sort()]]])
  const addOptions = (before: string, spec: CommandSpec) =>
    following.set(
      before,
      Object.keys(optionsOf(spec))
        .map((option) => `--${option}`)
        .sort(),
    )
  for (const { name, load } of commands) {
    const loaded = await load()
    if (isCommand(loaded)) addOptions(name, loaded)
    else {
      following.set(name, Object.keys(loaded).sort())
      for (const [word, spec] of Object.entries(loaded)) addOptions(`${name} ${word}`, spec)
    }
  }
  return following
}

function bashScript(following: Following) {
  const cases = Array.from(following, ([before, words]) => `    '${before}') echo '${words.join(' ')}' ;;`)
  // A word of the user's own, such as an id, stands behind a command of one word.
  return `_actorflux_words() {
  case "$1" in
${cases.join('\n')}
  esac
}
_actorflux() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="" words="" at
  for ((at = 1; at < COMP_CWORD && at < 3; at++)); do
    [[ "\${COMP_WORDS[at]}" == -* ]] && break
    before="\${before:+$before }\${COMP_WORDS[at]}"
  done
  words="$(_actorflux_words "$before")"
  COMPREPLY=($(compgen -W "\${words:-$(_actorflux_words "\${before%% *}")}" -- "$current"))
}
complete -o default -F _actorflux actorflux`
}

function fishScript(following: Following) {
  const lines = Array.from(following, ([before, words]) => {
    const seen = before.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
    const isHere = before === '' ? '__fish_use_subcommand' : seen.join('; and ')
    return words.map(
      (word) =>
        `complete -c actorflux -n '${isHere}' ${word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`}`,
    )
  })
  return lines.flat().join('\n')
}
