// cli/init: the files of a new project: a service that asks for an approval, and its function.

const SERVICE = `{
  "comment": "Asks for an approval, waits at most a day for it, and greets who got it.",
  "input": [{ "name": "name", "type": "string", "required": true, "allowNull": false }],
  "output": [{ "name": "text", "type": "string" }],
  "states": [
    {
      "name": "WaitForDecision", "x": 100, "y": 200, "waiting": true,
      "input": [{ "name": "by", "type": "string" }],
      "transitions": [
        { "event": "approve", "to": "Greet" },
        { "event": "reject", "to": "Rejected" },
        { "wait": "duration:86400", "to": "Rejected" }
      ]
    },
    {
      "name": "Greet", "x": 350, "y": 130,
      "action": {
        "type": "invokeCode", "className": "greetings", "methodName": "greet",
        "inputs": [{ "from": ["name"], "to": ["name"] }],
        "outputs": [{ "from": ["text"], "to": ["text"] }],
        "retry": { "maxAttempts": 3, "delay": 1 }
      },
      "transitions": [{ "to": "Approved" }]
    },
    { "name": "Approved", "x": 600, "y": 130 },
    { "name": "Rejected", "x": 350, "y": 270 }
  ]
}
`

const FUNCTION = `import type { Flux } from 'actorflux'

// It may run more than once: flux.stepKey stays the same, and identifies the step to what you call.
export async function greet({ name }: { name: string }, flux: Flux) {
  flux.log.info('greeting', { name, attempt: flux.attempt })
  return { text: \`Hello \${name}\` }
}
`

const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    lib: ['es2023'],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
  },
  include: ['actors'],
}

const SCHEMA = './node_modules/actorflux/dist/schema.json'

const EDITOR = {
  'files.associations': { '*.flux': 'json', '*.model': 'json' },
  'json.schemas': [{ fileMatch: ['*.flux', '*.model'], url: SCHEMA }],
}

const IGNORED = `node_modules
.actorflux
tokens.json
`

const packageOf = (actorflux: string) => ({
  private: true,
  type: 'module',
  scripts: { dev: 'actorflux dev', start: 'actorflux serve', check: 'tsc -p . && actorflux validate' },
  dependencies: { actorflux },
  devDependencies: { '@types/node': '^20.19.0', typescript: '^5.9.0 || ^6.0.0 || ^7.0.0' },
})

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`

/** The text of each file, by its path. `dependency`: on actorflux. */
export const projectFiles = (dependency: string): ReadonlyMap<string, string> =>
  new Map([
    ['actors/hello/Approval.flux', SERVICE],
    ['actors/hello/greetings.ts', FUNCTION],
    ['tsconfig.json', json(TSCONFIG)],
    ['.vscode/settings.json', json(EDITOR)],
    ['package.json', json(packageOf(dependency))],
    ['.gitignore', IGNORED],
  ])
