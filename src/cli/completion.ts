// cli: `actorflux completion`: prints a script with which a shell completes commands and their options.
import { EXIT, UsageError, type Command } from './command.ts'
import { optionsOf } from './remote/remote.ts'
import { GROUPS, SINGLE } from './remote/commands.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

const HELP = `Usage: actorflux completion <${SHELLS.join('|')}>

Prints a script. To use it:

  bash    source <(actorflux completion bash)
  zsh     source <(actorflux completion zsh)
  fish    actorflux completion fish | source`

const SERVING = ['host', 'port', 'help']

/** Commands that speak to no server, and their options. */
const LOCAL: { readonly [command: string]: readonly string[] } = {
  serve: [...SERVING, 'paused'],
  dev: SERVING,
  validate: ['help'],
  backup: ['data', 'help'],
  move: ['help'],
  doctor: ['data', 'salvage', 'help'],
  'token create': ['name', 'roles', 'expires', 'rate', 'help'],
  'token list': ['help'],
  'token revoke': ['name', 'help'],
  'webhook test': ['scheme', 'secret', 'body', 'set', 'header', 'method', 'url', 'print', 'help'],
  init: ['help'],
  types: ['out', 'help'],
  ...Object.fromEntries(SHELLS.map((shell) => [`completion ${shell}`, []])),
}

/** Each command, of one word or two, with its options. */
function commands(): ReadonlyMap<string, readonly string[]> {
  const remote = [
    ...Object.entries(SINGLE),
    ...Object.entries(GROUPS).flatMap(([name, group]) =>
      Object.entries(group).map(([word, command]) => [`${name} ${word}`, command] as const),
    ),
  ]
  return new Map([
    ...Object.entries(LOCAL),
    ...remote.map(([name, command]) => [name, Object.keys(optionsOf(command))] as const),
  ])
}

export const completion: Command = async ([shell, ...more], world) => {
  if (shell === '--help' || shell === '-h') {
    world.out(HELP)
    return EXIT.fine
  }
  if (more.length > 0) throw new UsageError('completion takes one word')
  if (shell === 'bash' || shell === 'zsh') world.out(bashScript(shell))
  else if (shell === 'fish') world.out(fishScript())
  else throw new UsageError(`completion needs a shell: ${SHELLS.join(', ')}`)
  return EXIT.fine
}

/** Words that may follow words: of nothing, the first words; of a first word, the second ones, or options. */
function following(): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, Set<string>>([['', new Set(['--help', '--version'])]])
  const add = (before: string, word: string) => {
    const some = words.get(before) ?? new Set()
    words.set(before, some.add(word))
  }
  for (const [name, options] of commands()) {
    const [first = '', second] = name.split(' ')
    add('', first)
    if (second !== undefined) add(first, second)
    for (const option of options) add(name, `--${option}`)
  }
  return new Map([...words].map(([before, some]) => [before, [...some].sort()]))
}

function bashScript(shell: 'bash' | 'zsh'): string {
  const cases = [...following()].map(([before, words]) => `    '${before}') words='${words.join(' ')}' ;;`)
  return [
    ...(shell === 'zsh' ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_actorflux() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" before="" words="" at',
    '  for ((at = 1; at < COMP_CWORD && at < 3; at++)); do',
    '    [[ "${COMP_WORDS[at]}" == -* ]] && break',
    '    before="${before:+$before }${COMP_WORDS[at]}"',
    '  done',
    '  case "$before" in',
    ...cases,
    // A word of the user's own, such as an id, stands behind a command of one word.
    '    *) before="${before%% *}"; [ -n "$before" ] && words="$(_actorflux_options "$before")" ;;',
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    '_actorflux_options() {',
    '  case "$1" in',
    ...[...following()]
      .filter(([before]) => before !== '' && !before.includes(' '))
      .map(
        ([before, words]) => `    '${before}') echo '${words.filter((word) => word.startsWith('--')).join(' ')}' ;;`,
      ),
    '  esac',
    '}',
    'complete -o default -F _actorflux actorflux',
  ].join('\n')
}

function fishScript(): string {
  const lines = [...commands()].flatMap(([name, options]) => {
    const [first = '', second] = name.split(' ')
    const seen = `__fish_seen_subcommand_from ${first}`
    const isHere = second === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`
    return [
      `complete -c actorflux -n __fish_use_subcommand -f -a ${first}`,
      ...(second === undefined ? [] : [`complete -c actorflux -n '${seen}' -f -a ${second}`]),
      ...options.map((option) => `complete -c actorflux -n '${isHere}' -l ${option}`),
    ]
  })
  return [...new Set(lines)].join('\n')
}
