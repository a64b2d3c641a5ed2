// definitions: the table of the keys of .flux files; those of webhooks and properties are beside it. The validator reads files with it, and the JSON Schema
// for editors is made of it (editor/document.ts).
import { z } from 'zod'
import { MAX_KEY_BYTES } from '../../model/key.ts'
import { DURATION, durationFacts } from '../values/durations.ts'
import {
  ANYTHING,
  COMMENT,
  ifElse,
  FLAG,
  LINES,
  LIST,
  NAMED,
  NULLABLE_TEXT,
  SECONDS,
  PROPERTIES,
  RECORD,
  refer,
  refersOrNull,
  STATE_NAME,
  TEXT,
  TEXTS,
  WHOLE_NUMBER,
} from './fields.ts'

/** Longest time for which an event that comes early is kept. */
export const MAX_EARLY_SECONDS = 7 * 86_400

const EARLY = ANYTHING.meta({
  description: `How long an event is kept that comes before the context waits for it: ${DURATION}, up to 7 days; 0: not at all.`,
  ...durationFacts({ most: MAX_EARLY_SECONDS, orZero: true, orNull: true }),
})

const KEY = ANYTHING.meta({
  ...NULLABLE_TEXT,
  anyOf: [{ type: 'null' }, { pattern: '\\$\\{' }, { minLength: 1, maxLength: MAX_KEY_BYTES }],
})

export const Root = z
  .object({
    $schema: ANYTHING.meta({ description: 'Where editors find the JSON Schema of the file.' }),
    comment: COMMENT,
    key: KEY.meta({
      description: 'Template over the inputs: the key of each context that is started without one.',
      examples: ['order-${orderId}'],
    }),
    keyReuse: ANYTHING.meta({
      description: '"never": a key stays in use until its context is deleted, not only until it ends.',
      enum: ['never', null],
    }),
    early: EARLY,
    triggers: ANYTHING.meta({
      description: 'Events that start the service.',
      type: ['array', 'null'],
      items: { anyOf: [{ type: 'string', description: 'Name of the event.' }, refer('trigger')] },
    }),
    onEnd: ANYTHING.meta({
      description: 'A signed webhook that is sent when a context has ended.',
      ...refersOrNull('onEnd'),
    }),
    tags: TEXTS.meta({
      description: 'Tags of each context: texts, or templates over the inputs.',
      examples: [['customer-${customerId}']],
    }),
    startState: TEXT.meta({ description: 'Name of the state in which a context starts; left out: the first one.' }),
    input: PROPERTIES.meta({ description: 'What a context is started with.' }),
    output: PROPERTIES.meta({ description: 'What a context returns.' }),
    webhooks: LIST.meta({ description: 'The paths at which the service can be called.', items: refer('webhook') }),
    secured: FLAG.meta({ description: 'Whether the service requires a token.', default: false }),
    allowExtraProperties: FLAG.meta({
      description: 'Whether inputs are accepted that are not declared, except names that begin with `$`.',
      default: false,
    }),
    states: LIST.meta({
      description: 'The states. One without transitions is an end.',
      type: 'array',
      items: refer('state'),
      minItems: 1,
    }),
  })
  .meta({
    title: 'Service',
    description: 'A workflow service: a state machine of which any number of contexts run.',
    required: ['states'],
  })

export const TriggerSchema = z
  .object({
    event: STATE_NAME.meta({ description: 'Name of the event that starts the service.' }),
    key: KEY.meta({
      description: "Template over the event's inputs: the key of the context, instead of the service's.",
    }),
    unlessMoved: FLAG.meta({
      description: 'Whether it starts only if the event has moved no context.',
      default: false,
    }),
    comment: COMMENT,
  })
  .meta({ title: 'Trigger', description: 'An event that starts the service.' })

/** A state that waits needs a transition, and each of them an event or a time. */
const WAITS = {
  required: ['transitions'],
  properties: {
    transitions: {
      type: 'array',
      minItems: 1,
      items: {
        anyOf: [
          { required: ['event'], properties: { event: NAMED } },
          { required: ['wait'], properties: { wait: NAMED } },
        ],
      },
    },
  },
}

/** Of the transitions of a state that does not wait, at most one has no event. */
const ACTS = {
  properties: {
    transitions: {
      anyOf: [
        { type: 'null' },
        {
          contains: { not: { required: ['event'], properties: { event: NAMED } } },
          minContains: 0,
          maxContains: 1,
        },
      ],
    },
  },
}

export const State = z
  .object({
    name: STATE_NAME.meta({ description: 'Name of the state, unique in the service.' }),
    displayName: ANYTHING.meta({ description: 'Name that editors show.' }),
    x: ANYTHING.meta({ description: 'Position in diagrams.' }),
    y: ANYTHING.meta({ description: 'Position in diagrams.' }),
    comment: COMMENT,
    waiting: FLAG.meta({
      description: 'Whether the context waits in this state, for an event or a time of its transitions.',
      default: false,
    }),
    action: RECORD.nullish().meta({
      description: 'What runs in the state, after the wait.',
      ...refersOrNull('action'),
    }),
    input: PROPERTIES.meta({ description: 'What transitions into this state set.' }),
    output: PROPERTIES.meta({ description: 'What the action sets, for this state alone.' }),
    transitions: LIST.meta({
      description: 'The ways out of the state; left out: the context ends here.',
      items: refer('transition'),
    }),
  })
  .meta({
    title: 'State',
    description: 'A state of the service.',
    ...ifElse({ required: ['waiting'], properties: { waiting: { const: true } } }, { holds: WAITS, fails: ACTS }),
  })

const NOT_INTERNAL = { properties: { internal: { not: { const: true } } } }

const HAS_OWN_EVENT = {
  required: ['event'],
  properties: { event: { ...NAMED, not: { enum: ['$else', '$exception'] } } },
}

export const TransitionSchema = z
  .object({
    to: STATE_NAME.meta({ description: 'Name of the state that is entered.' }),
    event: TEXT.meta({
      description:
        'Name of the event, `$else` for any other one, or `$exception` for a failed action. Left out: the transition is taken without an event, or at the time of `wait`.',
      examples: ['$else', '$exception'],
    }),
    internal: FLAG.meta({
      description: "Whether only the state's own action chooses it, by setting `$fluxEvent`. The event can't be sent.",
      default: false,
    }),
    early: EARLY,
    wait: TEXT.meta({
      description: 'How long, or until when, the transition waits: `duration:<seconds>` or `date:<when>`.',
      pattern: '^$|^\\s*(?:duration|date)\\s*:\\s*\\S',
      errorMessage: 'must be duration:<seconds> or date:<when>',
      examples: ['duration:60', 'date:${payBy}'],
    }),
    lines: LINES.meta({ description: 'Lines that set the inputs of the state that is entered.' }),
    comments: COMMENT,
  })
  .meta({
    title: 'Transition',
    description: 'A way out of a state.',
    ...ifElse(
      { required: ['early'], properties: { early: { not: { type: 'null' } } } },
      { holds: { allOf: [HAS_OWN_EVENT, NOT_INTERNAL] }, fails: { anyOf: [HAS_OWN_EVENT, NOT_INTERNAL] } },
    ),
  })

const PATH = { type: 'array', minItems: 1, items: { type: ['string', 'number'] } }

/** What a line of type `set` needs, and one of type `map`. */
const SET_LINE = {
  properties: { evaluate: { type: ['boolean', 'null'] } },
  ...ifElse(
    { required: ['evaluate'], properties: { evaluate: { const: true } } },
    { holds: { required: ['expression'] } },
  ),
}
const MAP_LINE = { required: ['from'], properties: { from: PATH } }

export const LineSchema = z
  .object({
    type: ANYTHING.meta({
      description: '`map` copies a value, `set` writes a constant or what an expression gives.',
      enum: ['map', 'set', null],
      default: 'map',
    }),
    from: ANYTHING.meta({ description: 'Path of the value that is copied: a list of names.' }),
    to: ANYTHING.meta({ description: 'Path of the value that is written: a list of names.', ...PATH }),
    expression: ANYTHING.meta({ description: 'The constant, or the expression if `evaluate` is true.' }),
    evaluate: ANYTHING.meta({ description: 'Whether `expression` is evaluated.', default: false }),
  })
  .meta({
    title: 'Line',
    description: 'Copies a value, or sets one.',
    required: ['to'],
    ...ifElse({ required: ['type'], properties: { type: { const: 'set' } } }, { holds: SET_LINE, fails: MAP_LINE }),
  })

export const RetrySchema = z
  .object({
    maxAttempts: z
      .int({ error: WHOLE_NUMBER })
      .min(1, { error: 'must be at least 1' })
      .nullish()
      .meta({ description: 'How often the action is tried.', default: 1 }),
    delay: SECONDS.nullish().meta({ description: 'Seconds before the second attempt.', default: 0 }),
    factor: z
      .number({ error: 'must be a number' })
      .positive({ error: 'must be greater than 0' })
      .nullish()
      .meta({ description: 'Each pause is so many times the one before.', default: 1 }),
    maxDelay: SECONDS.nullish().meta({ description: 'Longest pause, in seconds.', default: 3600 }),
  })
  .meta({ title: 'Retry', description: 'How often a failed action is tried again.' })
