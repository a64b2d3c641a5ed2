// definitions: what a .flux file is. The validator reads files by these schemas, and the JSON Schema for editors is made
// of them (editor/document.ts). What one part says of another is checked by the compiler (compile/).
import { z } from 'zod'
import { isObject, type Json } from '../../model/json/value.ts'
import { keyFault } from '../../model/key.ts'
import { alternatives } from '../../model/nearest.ts'
import { actionHint } from '../expressions/foreign.ts'
import {
  ANYTHING,
  closedEntry,
  COMMENT,
  DAY_SECONDS,
  durationMs,
  EDITORS,
  entry,
  FLAG,
  flag,
  JSON_VALUE,
  list,
  MS,
  NAME,
  PATH,
  PROPERTIES,
  text,
  TEXT,
  TIMEOUT_MS,
  WHOLE_NUMBER,
} from './fields.ts'
import { SECRET, WebhookSchema } from './webhook-schema.ts'

/** Seconds for which an action may run if it does not say. */
const DEFAULT_TIMEOUT_SECONDS = 60

const EARLY = durationMs(7 * DAY_SECONDS, true).describe(
  'How long an event is kept that comes before the context waits for it: seconds, or "90s", "15m", "1h", up to "7d"; 0: not at all.',
)

const KEY = NAME.refine((key) => key === '' || key.includes('${') || keyFault(key) === null, {
  error: ({ input }) => keyFault(String(input)) ?? undefined,
}).nullish()

const TO = PATH.describe('Path of the value that is written: a list of names.')

const Line = z
  .discriminatedUnion(
    'type',
    [
      entry({
        type: z.literal('map').nullish().describe('`map` copies a value.'),
        to: TO,
        from: PATH.describe('Path of the value that is copied: a list of names.'),
        expression: ANYTHING.describe('Only in a line of type `set`.'),
        evaluate: ANYTHING.describe('Only in a line of type `set`.'),
      }),
      entry({
        type: z.literal('set').describe('`set` writes a constant, or what an expression gives.'),
        to: TO,
        from: ANYTHING.describe('Only in a line of type `map`.'),
        expression: JSON_VALUE.describe('The constant, or the expression if `evaluate` is true.'),
        evaluate: flag().describe('Whether `expression` is evaluated.'),
      }),
    ],
    { error: ({ input }) => (isObject(input) ? 'a line is of type "map" or "set"' : 'a line must be an object') },
  )
  .meta({ id: 'line', description: 'Copies a value, or sets one.' })

export type LineSource = z.output<typeof Line>

export const LINES = list(Line)

const RETRY = entry({
  maxAttempts: WHOLE_NUMBER.meta({ description: 'How often the action is tried.', default: 1 }),
  delay: MS.describe('Seconds before the second attempt.'),
  factor: z
    .number({ error: 'must be a number' })
    .positive({ error: 'must be greater than 0' })
    .nullish()
    .meta({ description: 'Each pause is so many times the one before.', default: 1 }),
  maxDelay: MS.describe('Longest pause, in seconds; left out: an hour.'),
})
  .meta({ id: 'retry' })
  .nullish()
  .describe('How often the action is tried when it fails, and after which pauses.')

const INPUTS = LINES.describe('Lines that set the arguments. Any name becomes an argument.')
const OUTPUTS = LINES.describe(
  'Lines that run on the result: they see its keys, `$result`, and all names that the state sees.',
)
const STEP_TIMEOUT = TIMEOUT_MS.describe(
  `Seconds after which an attempt fails; left out: ${DEFAULT_TIMEOUT_SECONDS}.`,
).transform((given) => given ?? DEFAULT_TIMEOUT_SECONDS * 1000)

const MapAction = entry({
  type: z.literal(['map', '']).nullish().describe('`map` runs lines.'),
  lines: LINES.describe('Lines that write the outputs of the state and of the service.'),
}).meta({ id: 'mapAction' })

const InvokeCode = entry({
  type: z.literal('invokeCode').describe('`invokeCode` calls a function of a module of the package.'),
  className: NAME.meta({
    description: 'Module of the package, such as `orders/payments`, or a built-in class.',
    examples: ['Logger', 'Errors', 'Http', 'Webhooks'],
  }),
  methodName: NAME.describe('Name of the function in the module.'),
  parameters: ANYTHING.describe('What editors keep of the parameters. It has no effect.'),
  inputs: INPUTS,
  outputs: OUTPUTS,
  retry: RETRY,
  timeout: STEP_TIMEOUT,
  isolate: flag().describe('Whether the function runs in a process of its own.'),
}).meta({ id: 'invokeCodeAction' })

const InvokeFlux = entry({
  type: z.literal('invokeFlux').describe('`invokeFlux` starts another service as a child, and waits until it ends.'),
  name: NAME.describe('Name of the service, such as `orders.Order`.'),
  inputs: INPUTS,
  outputs: OUTPUTS,
  timeout: TIMEOUT_MS.describe('Seconds after which the child is ended, and the action fails.'),
}).meta({ id: 'invokeFluxAction' })

const Script = entry({
  type: z.literal('script').describe('`script` runs JavaScript in a sandbox.'),
  script: NAME.describe('The body of a JavaScript function. What it returns is `$result`.'),
  outputs: OUTPUTS,
  retry: RETRY,
  timeout: STEP_TIMEOUT,
}).meta({ id: 'scriptAction' })

const ACTION_TYPES = ['map', 'invokeCode', 'invokeFlux', 'script']

function unknownType(type: Json | undefined) {
  if (typeof type !== 'string') return `the type of an action is one of ${ACTION_TYPES.join(', ')}`
  const hint = actionHint(type)
  const instead = hint === null ? alternatives(type, ACTION_TYPES) : `: ${hint}`
  return `unknown action type ${JSON.stringify(type)}${instead}`
}

const Action = z
  .discriminatedUnion('type', [MapAction, InvokeCode, InvokeFlux, Script], {
    error: ({ input }) => (isObject(input) ? unknownType(input['type']) : 'must be an object'),
  })
  .meta({ id: 'action' })
  .nullish()
  .describe('What runs in the state, after the wait.')

export type ActionSource = z.output<typeof Action>
export type RetrySource = z.output<typeof RETRY>

const Transition = entry({
  to: NAME.describe('Name of the state that is entered.'),
  event: TEXT.meta({
    description:
      'Name of the event, `$else` for any other one, or `$exception` for a failed action. Left out: the transition is taken without an event, or at the time of `wait`.',
    examples: ['$else', '$exception'],
  }),
  internal: FLAG.describe(
    "Whether only the state's own action chooses it, by setting `$fluxEvent`. The event can't be sent.",
  ),
  early: EARLY,
  wait: text
    .regex(/^$|^\s*(?:duration|date)\s*:\s*\S/, {
      error: ({ input }) => `"${String(input)}" is no wait: write duration:<seconds> or date:<when>`,
    })
    .meta({
      errorMessage: 'must be duration:<seconds> or date:<when>',
      examples: ['duration:60', 'date:${payBy}'],
    })
    .nullish()
    .describe('How long, or until when, the transition waits: `duration:<seconds>` or `date:<when>`.'),
  lines: LINES.describe('Lines that set the inputs of the state that is entered.'),
  comments: COMMENT,
}).meta({ id: 'transition', description: 'A way out of a state.' })

export type TransitionSource = z.output<typeof Transition>

const POSITION = ANYTHING.describe('Position in diagrams.')

const State = entry({
  name: NAME.describe('Name of the state, unique in the service.'),
  displayName: ANYTHING.describe('Name that editors show.'),
  x: POSITION,
  y: POSITION,
  comment: COMMENT,
  waiting: flag().describe('Whether the context waits in this state, for an event or a time of its transitions.'),
  action: Action,
  input: PROPERTIES.describe('What transitions into this state set.'),
  output: PROPERTIES.describe('What the action sets, for this state alone.'),
  transitions: list(Transition).describe('The ways out of the state; left out: the context ends here.'),
}).meta({ id: 'state', description: 'A state of the service.' })

export type StateSource = z.output<typeof State>

const Trigger = entry({
  event: text.describe('Name of the event that starts the service.'),
  key: KEY.describe("Template over the event's inputs: the key of the context, instead of the service's."),
  unlessMoved: flag().describe('Whether it starts only if the event has moved no context.'),
  comment: COMMENT,
}).meta({ id: 'trigger', description: 'An event that starts the service.' })

const OnEnd = closedEntry({
  url: NAME.refine((url) => url.includes('${') || (/^https?:\/\//i.test(url) && URL.canParse(url)), {
    error: 'must be a URL, https://…, or a template over the inputs that gives one',
  }).meta({ description: 'URL, or a template over the inputs.', examples: ['https://example.com/ended'] }),
  secret: SECRET,
}).meta({ id: 'onEnd' })

export const Root = entry({
  $schema: EDITORS,
  comment: COMMENT,
  key: KEY.meta({
    description: 'Template over the inputs: the key of each context that is started without one.',
    examples: ['order-${orderId}'],
  }),
  keyReuse: z
    .literal('never', { error: 'must be "never", or be left out' })
    .nullish()
    .describe('"never": a key stays in use until its context is deleted, not only until it ends.'),
  early: EARLY,
  triggers: list(
    z.union([text.transform((event) => ({ event, key: null, unlessMoved: false })), Trigger], {
      error: 'must be text, or an object with an event',
    }),
  ).describe('Events that start the service.'),
  onEnd: OnEnd.nullish().describe('A signed webhook that is sent when a context has ended.'),
  tags: list(text, 'must be a list of texts').describe(
    'Tags of each context: texts, or templates over the inputs, such as `customer-${customerId}`.',
  ),
  startState: TEXT.describe('Name of the state in which a context starts; left out: the first one.'),
  input: PROPERTIES.describe('What a context is started with.'),
  output: PROPERTIES.describe('What a context returns.'),
  webhooks: list(WebhookSchema).describe('The paths at which the service can be called.'),
  secured: flag().describe('Whether the service requires a token.'),
  allowExtraProperties: flag().describe(
    'Whether inputs are accepted that are not declared, except names that begin with `$`.',
  ),
  states: z
    .array(State.optional(), { error: 'must be a list' })
    .min(1, { error: 'there are no states' })
    .describe('The states. One without transitions is an end.'),
}).meta({
  id: 'flux',
  description: 'A workflow service: a state machine of which any number of contexts run.',
})

export type FluxSource = z.output<typeof Root>
