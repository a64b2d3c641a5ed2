// cli/init: the files of a new project: a service that asks for an approval, its function, and a scenario that tests it.

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

const SCENARIO = `{
  "service": "Approval",
  "name": "who is approved is greeted; the mail server is away at first",
  "functions": {
    "greetings.greet": [{ "error": { "message": "the mail server is away" } }, { "result": { "text": "Hello Ada" } }]
  },
  "start": { "input": { "name": "Ada" } },
  "then": [
    { "expect": { "state": "WaitForDecision", "status": "WAITING_UNTIL" } },
    { "send": "approve", "input": { "by": "Eve" } },
    { "advance": "1s" },
    { "expect": { "status": "COMPLETED", "output": { "text": "Hello Ada" }, "calls": { "greetings.greet": 2 } } }
  ]
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

const SCHEMAS = './node_modules/actorflux/dist'

const EDITOR = {
  'files.associations': { '*.flux': 'json', '*.model': 'json' },
  'json.schemas': [
    { fileMatch: ['*.flux', '*.model'], url: `${SCHEMAS}/schema.json` },
    { fileMatch: ['*.scenario.json'], url: `${SCHEMAS}/scenario.schema.json` },
  ],
}

const IGNORED = `node_modules
.actorflux
tokens.json
`

const packageOf = (actorflux: string) => ({
  private: true,
  type: 'module',
  scripts: {
    dev: 'actorflux dev',
    start: 'actorflux serve',
    check: 'tsc -p . && actorflux validate',
    test: 'actorflux test',
  },
  dependencies: { actorflux },
  devDependencies: { '@types/node': '^20.19.0', typescript: '^5.9.0 || ^6.0.0 || ^7.0.0' },
})

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`

/** The text of each file, by its path. `dependency`: on actorflux. */
export const projectFiles = (dependency: string): ReadonlyMap<string, string> =>
  new Map([
    ['actors/hello/Approval.flux', SERVICE],
    ['actors/hello/greetings.ts', FUNCTION],
    ['actors/hello/Approval.scenario.json', SCENARIO],
    ['tsconfig.json', json(TSCONFIG)],
    ['.vscode/settings.json', json(EDITOR)],
    ['package.json', json(packageOf(dependency))],
    ['.gitignore', IGNORED],
  ])
