// The services that the tests of the pages run.

/** Markup, quotes, marks that turn the direction of text, control characters. */
export const HOSTILE = `<script>document.title='HIT'</script>"'\`&amp;<img src=x onerror="document.title='HIT'">\u202Eturned\u200F\u0007\u001B[31m{{1}}`
export const LONG = 'x'.repeat(300)
export const HOSTILE_STATE = `state ${HOSTILE}`
export const HOSTILE_EVENT = `event ${HOSTILE}`
export const HOSTILE_INPUT = `input ${HOSTILE}`

const FUNCTIONS = `
function inner(message: string): never {
  throw new Error(message)
}
export function fail({ message }: { readonly message: string }): void {
  inner(message)
}
`

const failing = (more: object) => ({
  input: [{ name: 'message', required: true }],
  states: [
    {
      name: 'Charge',
      action: {
        type: 'invokeCode',
        className: 'functions',
        methodName: 'fail',
        inputs: [{ from: ['message'], to: ['message'] }],
        outputs: [],
        ...more,
      },
      transitions: [{ to: 'Done' }],
    },
    { name: 'Done' },
  ],
})

export const SERVICES: { readonly [path: string]: unknown } = {
  'own/functions.ts': FUNCTIONS,
  'own/Failing.flux': failing({}),
  'own/Retry.flux': failing({ retry: { maxAttempts: 5, delay: 600 } }),
  'own/Approval.flux': {
    tags: ['${team}'],
    input: [
      { name: 'request', required: true },
      { name: 'team' },
      { name: 'amount', type: 'integer', min: 1 },
      { name: 'urgent', type: 'boolean' },
      { name: 'level', choices: ['low', 'high'] },
      { name: 'lines', type: 'object', array: true },
    ],
    states: [
      {
        name: 'WaitForDecision',
        waiting: true,
        input: [
          { name: 'by', required: true },
          { name: 'amount', type: 'integer' },
        ],
        transitions: [
          { event: 'approve', to: 'Approved' },
          { event: 'reject', to: 'Rejected' },
          { wait: 'duration:3600', to: 'Expired' },
        ],
      },
      { name: 'Approved' },
      { name: 'Rejected' },
      { name: 'Expired' },
    ],
  },
  'own/Hostile.flux': {
    comment: `${HOSTILE}\n${LONG}`,
    input: [{ name: 'text', comments: HOSTILE }, { name: HOSTILE_INPUT, type: 'object' }, { name: LONG }],
    output: [{ name: `output ${HOSTILE}` }],
    states: [
      {
        name: HOSTILE_STATE,
        comment: HOSTILE,
        waiting: true,
        input: [{ name: HOSTILE_INPUT }],
        action: {
          type: 'map',
          lines: [{ type: 'set', expression: 'text', evaluate: true, to: [`output ${HOSTILE}`] }],
        },
        transitions: [
          { event: HOSTILE_EVENT, to: LONG },
          { event: LONG, to: 'End' },
          { event: '$else', to: 'End' },
        ],
      },
      {
        name: LONG,
        displayName: HOSTILE,
        waiting: true,
        transitions: [
          { event: 'go', to: 'End' },
          { wait: 'duration:100000', to: HOSTILE_STATE },
        ],
      },
      { name: 'End' },
    ],
  },
  'own/Hooked.flux': {
    webhooks: [{ urlPath: '/hooked', httpMethods: ['POST'] }],
    input: [{ name: 'text' }],
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'wait' }] }],
  },
}
