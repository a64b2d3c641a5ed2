// steps: runs a script in QuickJS. Each gets a runtime of its own, so none can leave anything to the next; text goes
// in, text comes out.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  Scope,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { ResultTooLarge } from '../../model/json/size.ts'
import { IS_WHOLE, PRELUDE } from './prelude.ts'
import { lineOf } from './script-error.ts'

const PAGE_BYTES = 64 * 1024
/**
 * The memory of WebAssembly: what QuickJS needs for itself, and at most 32 MiB for a script and what it sees. QuickJS's
 * own limit wouldn't hold: built for WebAssembly it doesn't know how large what it allocated is, and adds up 8 bytes
 * for each piece.
 */
const OWN_BYTES = 16 * 1024 * 1024
const MEMORY_BYTES = OWN_BYTES + 32 * 1024 * 1024
const STACK_BYTES = 256 * 1024
/** Jobs between two looks at the clock. */
const JOBS = 100

export interface Script {
  readonly script: string
  /** JSON text of an object; null: the script is only parsed. */
  readonly names: string | null
  /** Milliseconds. */
  readonly timeout: number
  /** Bytes that its result may have as JSON. */
  readonly maxResult: number
}

/** `json`: the text of `{ value }`, or of `{ name, message, … }` for what was thrown. */
export type ScriptOutcome = { readonly json: string } | { readonly name: string; readonly message: string }

const OUT_OF_MEMORY: ScriptOutcome = { name: 'InternalError', message: 'out of memory' }
const THROWN_NULL: ScriptOutcome = { json: '{"name":"Error","message":"null"}' }

/** A fresh context that has seen nothing but the prelude. */
interface Room {
  /** Of all that must be freed. */
  readonly scope: Scope
  readonly runtime: QuickJSRuntime
  readonly context: QuickJSContext
  readonly memory: WebAssembly.Memory
  readonly call: QuickJSHandle
  /** When the script must have ended. */
  end: number
}

interface Engine {
  readonly quickjs: QuickJSWASMModule
  readonly memory: WebAssembly.Memory
}

export class Sandbox {
  /** null: the last one is not to be used any more. */
  #engine: Promise<Engine> | null = null
  #room: Room | null = null

  /** Gets ready for the next script, also after something broke. Half a millisecond that nobody has to wait for. */
  async open(): Promise<void> {
    this.#engine ??= newEngine()
    const engine = await this.#engine
    this.#room ??= newRoom(engine)
  }

  /** Whatever becomes of the script, the sandbox can be opened for another. */
  run(script: Script): ScriptOutcome {
    const room = this.#room
    if (room === null) throw new Error('the sandbox is not open')
    this.#room = null
    let outcome: ScriptOutcome = { name: 'InternalError', message: 'the script broke its sandbox' }
    try {
      outcome = runIn(room, script)
      room.scope.dispose()
      const hasGrown = room.memory.buffer.byteLength > OWN_BYTES
      // What QuickJS throws when there is no memory left for an error.
      if (script.names !== null && 'json' in outcome && outcome.json === 'null')
        outcome = hasGrown ? OUT_OF_MEMORY : THROWN_NULL
      // Memory never shrinks, and what filled it may have left it in pieces: the next script gets a new one.
      if (hasGrown) this.#engine = null
    } catch (error) {
      // QuickJS itself gave up, or could not clean up. Its memory can't be trusted any more.
      this.#engine = null
      if (error instanceof RangeError) outcome = { name: 'InternalError', message: 'stack overflow' }
    }
    return outcome
  }
}

async function newEngine(): Promise<Engine> {
  const { default: loaded } = await import('@jitl/quickjs-wasmfile-release-sync')
  // Its types are those of the CommonJS module.
  const variant = 'default' in loaded ? loaded.default : loaded
  const wasmMemory = new WebAssembly.Memory({ initial: OWN_BYTES / PAGE_BYTES, maximum: MEMORY_BYTES / PAGE_BYTES })
  const wasmModule = await (compiled ??= compile())
  return {
    quickjs: await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory, wasmModule })),
    memory: wasmMemory,
  }
}

/** Kept for all engines of this process: V8 compiles and optimizes its functions once, not once for each engine. */
let compiled: Promise<WebAssembly.Module> | null = null

async function compile(): Promise<WebAssembly.Module> {
  const { resolve } = createRequire(import.meta.url)
  return WebAssembly.compile(await readFile(resolve('@jitl/quickjs-wasmfile-release-sync/wasm')))
}

function newRoom({ quickjs, memory }: Engine): Room {
  const scope = new Scope()
  const runtime = scope.manage(quickjs.newRuntime())
  // Refuses a single piece that could never fit before memory is grown for it.
  runtime.setMemoryLimit(MEMORY_BYTES)
  runtime.setMaxStackSize(STACK_BYTES)
  const context = scope.manage(runtime.newContext())
  const room: Room = {
    scope,
    runtime,
    context,
    memory,
    call: scope.manage(context.evalCode(PRELUDE, 'prelude').unwrap()),
    end: Infinity,
  }
  runtime.setInterruptHandler(() => isLate(room))
  return room
}

const isLate = ({ end }: Room) => performance.now() > end

/**
 * On one line with its start, so that lines count from 1; a line of its own for the end, in case the last one is a
 * comment.
 */
const functionOf = (script: string) => `async function () {${script}\n}`

/**
 * Nothing of the script runs, unless it ends its function with a `}` too many, and begins another with the rest. Then
 * that isn't the one that was written.
 */
function check({ scope, context }: Room, script: string): ScriptOutcome {
  const source = functionOf(script)
  const isWhole = scope.manage(context.evalCode(IS_WHOLE).unwrap())
  const parsed = context.evalCode(`(${source})`, 'script')
  const body = scope.manage(parsed.error ?? parsed.value)
  if (parsed.error) return faultOf(context, body, script)
  const answer = context.callFunction(
    isWhole,
    context.undefined,
    body,
    scope.manage(context.newString(JSON.stringify(source))),
  )
  const whole = context.eq(scope.manage(answer.error ?? answer.value), context.true)
  return whole ? { json: 'null' } : { name: 'SyntaxError', message: 'it has a "}" that closes nothing of its own' }
}

function runIn(room: Room, { script, names, timeout, maxResult }: Script): ScriptOutcome {
  const { scope, runtime, context, call } = room
  room.end = performance.now() + timeout
  if (names === null) return inTime(check(room, script), room, timeout)
  const parsed = context.evalCode(`(${functionOf(script)})`, 'script')
  const body = scope.manage(parsed.error ?? parsed.value)
  if (parsed.error) return inTime(faultOf(context, body, script), room, timeout)

  const called = context.callFunction(
    call,
    context.undefined,
    body,
    scope.manage(context.newString(names)),
    scope.manage(context.newNumber(maxResult)),
  )
  const promise = scope.manage(called.error ?? called.value)
  while (!called.error && runtime.hasPendingJob() && !isLate(room)) {
    const done = runtime.executePendingJobs(JOBS)
    if (done.error) scope.manage(done.error)
  }
  if (isLate(room)) return late(timeout)
  if (called.error) return OUT_OF_MEMORY
  return outcomeOf(context, scope, promise, maxResult)
}

function outcomeOf(context: QuickJSContext, scope: Scope, promise: QuickJSHandle, maxResult: number): ScriptOutcome {
  const state = context.getPromiseState(promise)
  if (state.type === 'pending') return { name: 'Error', message: 'the script waits for something that never comes' }
  const result = scope.manage(state.type === 'fulfilled' ? state.value : state.error)
  // Without memory for the text of an error, even that is refused.
  if (state.type === 'rejected' || context.typeof(result) !== 'string') return OUT_OF_MEMORY
  const json = context.getString(result)
  // The prelude has counted characters, of which each is a byte at least.
  return json === '' || (json.startsWith(VALUE) && Buffer.byteLength(json) - VALUE.length - 1 > maxResult)
    ? tooLarge(maxResult)
    : { json }
}

function faultOf(context: QuickJSContext, error: QuickJSHandle, script: string): ScriptOutcome {
  const read = (key: string) =>
    context
      .getProp(error, key)
      .consume((handle) => (context.typeof(handle) === 'string' ? context.getString(handle) : ''))
  const line = lineOf(read('stack'))
  // What is missing at the end is missed where the function ends, a line later.
  const place = line === undefined ? '' : `line ${Math.min(line, script.trimEnd().split('\n').length)}: `
  return { name: read('name') || 'Error', message: `${place}${read('message') || "it can't be parsed"}` }
}

/** What the text of a value begins with; a bracket ends it. */
const VALUE = '{"value":'

function tooLarge(maxResult: number): ScriptOutcome {
  const { name, message } = new ResultTooLarge(maxResult)
  return { name, message }
}

const inTime = (outcome: ScriptOutcome, room: Room, timeout: number): ScriptOutcome =>
  isLate(room) ? late(timeout) : outcome

const late = (timeout: number): ScriptOutcome => ({
  name: 'TimeoutError',
  message: `the script computed for longer than ${timeout / 1000} s`,
})
