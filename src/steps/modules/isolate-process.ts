// steps: the process in which isolated functions run, one at a time. Its `flux` argument forwards calls to the server
// over the channel.
import type { FluxApi } from '../../api/calls.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { toBoundedJson, type JsonObject } from '../../model/json/value.ts'
import { atEachLevel, loggedFields, loggedText, type Log, type LogLevel } from '../../ports/log.ts'
import type { Flux, FunctionName, PackageFolder } from '../../ports/steps.ts'
import { guardProcess } from '../processes/pooled-process.ts'
import { describeThrown, rethrown, type RemoteThrown } from '../processes/remote-error.ts'
import { Functions } from './functions.ts'

export interface IsolateOptions {
  readonly allowPrivate: boolean
  /** Maximum size of a result, in bytes of JSON. */
  readonly maxResult: number
}

export type ToIsolate =
  | (IsolateOptions & {
      readonly kind: 'run'
      /** Number of the run. */
      readonly run: number
      readonly name: FunctionName
      /** JSON text. */
      readonly args: string
      /** The facts about the step in the `flux` argument. */
      readonly facts: Pick<
        Flux,
        'contextId' | 'fluxName' | 'stateName' | 'stepKey' | 'attempt' | 'rawBody' | 'traceparent'
      >
      /** The same for all runs of a process. */
      readonly packages: readonly PackageFolder[]
      /** The names of the calls. */
      readonly methods: readonly string[]
    })
  | { readonly kind: 'abort'; readonly name: string; readonly message: string }
  | Answer

/** The outcome of a call: JSON text, or the reason why it failed. */
type Answer = { readonly kind: 'answer'; readonly call: number } & (
  { readonly json: string } | { readonly failure: Failure } | { readonly thrown: RemoteThrown }
)

/** The messages after the first, which says that the process is ready. */
export type FromIsolate =
  /** The function is loaded and is being called. */
  | { readonly kind: 'begun' }
  /** `run`: number of the run that logs. */
  | {
      readonly kind: 'log'
      readonly run: number
      readonly level: LogLevel
      readonly message: string
      readonly fields: JsonObject
    }
  /** `request`: JSON text. */
  | {
      readonly kind: 'call'
      readonly run: number
      readonly call: number
      readonly method: string
      readonly request: string
    }
  /** `json`: JSON text of the result. */
  | ({ readonly kind: 'done' } & ({ readonly json: string } | { readonly thrown: RemoteThrown }))

guardProcess()
// As in the server, an unhandled rejection is logged and does not end the process.
process.on('unhandledRejection', (error) =>
  logOf(latest).error('a promise was rejected, and the rejection was not handled', { error: describeThrown(error) }),
)

const post = (message: FromIsolate) => process.send?.(message)

let functions: Functions | null = null
let controller = new AbortController()
let calls = 0
/** Number of the newest run. */
let latest = 0
/** Calls without an answer. */
const waiting = new Map<number, (answer: Answer) => void>()

async function ask<T>(run: number, method: string, request: unknown): Promise<T> {
  const call = ++calls
  post({ kind: 'call', run, call, method, request: JSON.stringify(request ?? null) })
  const answer = await new Promise<Answer>((resolve) => {
    waiting.set(call, resolve)
  })
  waiting.delete(call)
  if ('json' in answer) return JSON.parse(answer.json)
  throw 'failure' in answer ? new FluxError(answer.failure) : rethrown(answer.thrown)
}

function apiOf(run: number, methods: readonly string[]): FluxApi {
  const entries: unknown[][] = methods.map((name) => [name, (request: unknown = {}) => ask(run, name, request)])
  return Object.fromEntries(entries)
}

function logOf(run: number): Log {
  return atEachLevel((level) => (message: unknown, fields?: object) => {
    post({ kind: 'log', run, level, message: loggedText(message), fields: loggedFields(fields) })
  })
}

async function run(message: ToIsolate & { kind: 'run' }): Promise<FromIsolate> {
  const { run: number, name, args, facts, maxResult, methods } = message
  latest = number
  controller = new AbortController()
  try {
    if (!functions) {
      functions = new Functions(message)
      functions.mount(message.packages)
    }
    const method = await functions.newest(name)
    const rawBody = facts.rawBody && Buffer.from(facts.rawBody)
    post({ kind: 'begun' })
    const result = await method(JSON.parse(args), {
      ...apiOf(number, methods),
      ...facts,
      rawBody,
      messageId: () => ask(number, 'messageId', null),
      signal: controller.signal,
      log: logOf(number),
    })
    return { kind: 'done', json: JSON.stringify(toBoundedJson(result, maxResult)) }
  } catch (error) {
    return { kind: 'done', thrown: describeThrown(error) }
  }
}

process.on('message', (message: ToIsolate) => {
  switch (message.kind) {
    case 'run':
      void run(message).then(post)
      return
    case 'abort':
      controller.abort(new DOMException(message.message, message.name))
      return
    default:
      waiting.get(message.call)?.(message)
  }
})
process.send?.('ready')
