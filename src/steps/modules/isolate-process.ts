// steps: the process in which isolated functions run, one at a time. Its `flux` argument forwards calls to the server
// over the channel.
import type { FluxApi } from '../../api/calls.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { isObject, toBoundedJson, tryJson, type JsonObject } from '../../model/json/value.ts'
import type { Log, LogLevel } from '../../ports/log.ts'
import type { Flux, FunctionName, PackageFolder } from '../../ports/steps.ts'
import { Functions } from '../functions.ts'
import { describeThrown, rethrown, type RemoteThrown } from '../processes/remote-error.ts'
import { guardProcess } from '../processes/start.ts'

/** The facts about the step in the `flux` argument. */
export type FluxFacts = Pick<
  Flux,
  'contextId' | 'fluxName' | 'stateName' | 'stepKey' | 'attempt' | 'rawBody' | 'traceparent'
>

export type ToIsolate =
  /** The first message. */
  | {
      readonly kind: 'open'
      readonly packages: readonly PackageFolder[]
      readonly allowPrivate: boolean
      /** The names of the calls. */
      readonly methods: readonly string[]
    }
  /** `run`: number of the run. `args`: JSON text. `maxResult`: maximum size of the result in bytes of JSON. */
  | {
      readonly kind: 'run'
      readonly run: number
      readonly name: FunctionName
      readonly args: string
      readonly facts: FluxFacts
      readonly maxResult: number
    }
  | { readonly kind: 'abort'; readonly name: string; readonly message: string }
  /** The outcome of a call: JSON text, or the reason why it failed. */
  | { readonly kind: 'answer'; readonly call: number; readonly json: string }
  | { readonly kind: 'refusal'; readonly call: number; readonly failure: Failure | null; readonly thrown: RemoteThrown }

export type FromIsolate =
  | { readonly kind: 'ready' }
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
  | { readonly kind: 'done'; readonly json: string }
  | { readonly kind: 'failed'; readonly thrown: RemoteThrown }

guardProcess()
// As in the server, an unhandled rejection is logged and does not end the process.
process.on('unhandledRejection', (error) =>
  logOf(latest).error('a promise was rejected and nobody handled it', { error: describeThrown(error) }),
)

const post = (message: FromIsolate) => process.send?.(message)

let functions: Functions | null = null
let controller = new AbortController()
let calls = 0
/** Number of the newest run. */
let latest = 0
const waiting = new Map<
  number,
  { readonly resolve: (json: string) => void; readonly reject: (error: unknown) => void }
>()

async function ask<T>(run: number, method: string, request: unknown): Promise<T> {
  const call = ++calls
  const answer = new Promise<string>((resolve, reject) => {
    waiting.set(call, { resolve, reject })
  })
  post({ kind: 'call', run, call, method, request: JSON.stringify(request ?? null) })
  return JSON.parse(await answer)
}

/** The names of the calls, which the server tells. */
let methods: readonly string[] = []

const apiOf = (run: number): FluxApi => {
  const entries: unknown[][] = methods.map((name) => [name, (request: unknown = {}) => ask(run, name, request)])
  return Object.fromEntries(entries)
}

function logOf(run: number): Log {
  const logAt = (level: LogLevel) => (message: unknown, fields?: object) => {
    const text =
      typeof message === 'string'
        ? message
        : message instanceof Error
          ? message.message
          : JSON.stringify(tryJson(message))
    const data = tryJson(fields ?? {})
    post({ kind: 'log', run, level, message: text, fields: isObject(data) ? data : {} })
  }
  return {
    trace: logAt('trace'),
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
  }
}

async function run({ run: number, name, args, facts, maxResult }: ToIsolate & { kind: 'run' }): Promise<FromIsolate> {
  latest = number
  controller = new AbortController()
  try {
    if (functions === null) throw new Error('the process was not opened')
    const method = await functions.newest(name)
    const rawBody = facts.rawBody && Buffer.from(facts.rawBody)
    post({ kind: 'begun' })
    const result = await method(JSON.parse(args), {
      ...apiOf(number),
      ...facts,
      rawBody,
      messageId: () => ask(number, 'messageId', null),
      signal: controller.signal,
      log: logOf(number),
    })
    return { kind: 'done', json: JSON.stringify(toBoundedJson(result, maxResult)) }
  } catch (error) {
    return { kind: 'failed', thrown: describeThrown(error) }
  }
}

function settle({ call, ...answer }: ToIsolate & { kind: 'answer' | 'refusal' }): void {
  const caller = waiting.get(call)
  waiting.delete(call)
  if (answer.kind === 'answer') caller?.resolve(answer.json)
  else caller?.reject(answer.failure === null ? rethrown(answer.thrown) : new FluxError(answer.failure))
}

process.on('message', (message: ToIsolate) => {
  switch (message.kind) {
    case 'open':
      functions = new Functions({ allowPrivate: message.allowPrivate })
      functions.mount(message.packages)
      methods = message.methods
      post({ kind: 'ready' })
      return
    case 'run':
      void run(message).then(post)
      return
    case 'abort':
      controller.abort(new DOMException(message.message, message.name))
      return
    default:
      settle(message)
  }
})
