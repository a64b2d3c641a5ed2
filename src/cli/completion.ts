// cli: `actorflux completion`: prints a script with which a shell completes commands and their options.
import { command, optionsOf, UsageError, type Commands, type CommandSpec } from './command.ts'

const SHELLS = ['bash', 'zsh', 'fish']

export const completionOf = (commands: Commands): CommandSpec =>
  command({
    summary: 'print a script that completes commands in a shell',
    word: `<${SHELLS.join('|')}>`,
    notes: `To use it:

  bash    source <(actorflux completion bash)
  zsh     source <(actorflux completion zsh)
  fish    actorflux completion fish | source`,
    async run({ word }, world) {
      if (!SHELLS.includes(word)) throw new UsageError(`completion needs a shell: ${SHELLS.join(', ')}`)
      const following = await wordsOf(commands)
      if (word === 'fish') return world.out(fishScript(following))
      if (word === 'zsh') world.out('autoload -U +X bashcompinit && bashcompinit')
      world.out(bashScript(following))
    },
  })

/** Words that may follow words: of nothing, the first words; of a first word, the second ones, or options. */
type Following = ReadonlyMap<string, readonly string[]>

async function wordsOf(commands: Commands) {
  const words = new Map<string, readonly string[]>([['', [...Object.keys(commands), '--help', '--version']]])
  const add = (name: string, spec: CommandSpec) =>
    words.set(
      name,
      Object.keys(optionsOf(spec)).map((option) => `--${option}`),
    )
  for (const [name, entry] of Object.entries(commands)) {
    if (name === 'completion') words.set(name, [...SHELLS, '--help'])
    else if ('load' in entry) add(name, await entry.load())
    else {
      const group = await entry.group()
      words.set(name, Object.keys(group))
      for (const [word, spec] of Object.entries(group)) add(`${name} ${word}`, spec)
    }
  }
  return new Map(Array.from(words, ([before, some]) => [before, some.toSorted()]))
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
