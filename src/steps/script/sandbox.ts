// steps: runs scripts in QuickJS. Each script gets a new runtime, so that it cannot affect the next one. Input and
// output are text.
//
// - QuickJS's own memory limit has no effect in WebAssembly: it cannot ask for the size of what it allocated. The
//   memory of the module is bounded instead, and replaced after a script that made it grow.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  Scope,
  type QuickJSContext,
  type QuickJSHandle,
} from 'quickjs-emscripten-core'
import { ResultTooLarge } from '../../model/json/value.ts'
import { IS_WHOLE, PRELUDE } from './prelude.ts'
import { lineOf } from './script-error.ts'

const PAGE_BYTES = 64 * 1024
/**
 * The WebAssembly memory: what QuickJS itself needs, and at most 32 MiB for a script and its names. QuickJS's own limit
 * is not effective: in the WebAssembly build it does not know the size of an allocation, and counts 8 bytes for each.
 */
const OWN_BYTES = 16 * 1024 * 1024
const MEMORY_BYTES = OWN_BYTES + 32 * 1024 * 1024
const STACK_BYTES = 256 * 1024
/** Number of QuickJS jobs (promise reactions) between two checks of the time limit. */
const JOBS = 100

export interface Script {
  readonly script: string
  /** JSON text of the object of names; null: the script is only parsed. */
  readonly names: string | null
  /** Milliseconds. */
  readonly timeout: number
  /** Maximum size of the result, in bytes of JSON. */
  readonly maxResult: number
}

/** `json`: the text of `{ value }`, or of `{ name, message, … }` for what was thrown. */
export type ScriptOutcome = { readonly json: string } | { readonly name: string; readonly message: string }

const OUT_OF_MEMORY: ScriptOutcome = { name: 'InternalError', message: 'out of memory' }
const THROWN_NULL: ScriptOutcome = { json: '{"name":"Error","message":"null"}' }

type SandboxContext = ReturnType<typeof newContext>
type Engine = Awaited<ReturnType<typeof newEngine>>

export class Sandbox {
  /** null: the last engine must not be used again. */
  #engine: Promise<Engine> | null = null
  #prepared: SandboxContext | null = null

  /**
   * Prepares a context for the next script, also after a failure. It takes half a millisecond, for which no script
   * waits.
   */
  async open() {
    this.#engine ??= newEngine()
    const engine = await this.#engine
    this.#prepared ??= newContext(engine)
  }

  /** Runs a script. After that, the sandbox can be opened for another one, whatever the outcome. */
  run(script: Script) {
    const prepared = this.#prepared
    if (prepared === null) throw new Error('the sandbox is not open')
    this.#prepared = null
    let outcome: ScriptOutcome = { name: 'InternalError', message: 'the script broke its sandbox' }
    try {
      outcome = runIn(prepared, script)
      prepared.scope.dispose()
      const hasGrown = prepared.memory.buffer.byteLength > OWN_BYTES
      // QuickJS throws null if there is no memory for an error object.
      if (script.names !== null && 'json' in outcome && outcome.json === 'null')
        outcome = hasGrown ? OUT_OF_MEMORY : THROWN_NULL
      // The memory never shrinks, and may be fragmented, so the next script gets a new engine.
      if (hasGrown) this.#engine = null
    } catch (error) {
      // QuickJS itself failed, or could not free its objects. The state of its memory is unknown.
      this.#engine = null
      if (error instanceof RangeError) outcome = { name: 'InternalError', message: 'stack overflow' }
    }
    return outcome
  }
}

async function newEngine() {
  const { default: loaded } = await import('@jitl/quickjs-wasmfile-release-sync')
  // The types are those of the CommonJS module.
  const variant = 'default' in loaded ? loaded.default : loaded
  const memory = new WebAssembly.Memory({ initial: OWN_BYTES / PAGE_BYTES, maximum: MEMORY_BYTES / PAGE_BYTES })
  const own = newVariant(variant, { wasmMemory: memory, wasmModule: await (compiled ??= compile()) })
  return { quickjs: await newQuickJSWASMModuleFromVariant(own), memory }
}

/** Shared by all engines of this process, so that V8 compiles and optimizes the functions only once. */
let compiled: Promise<WebAssembly.Module> | null = null

async function compile() {
  const { resolve } = createRequire(import.meta.url)
  return WebAssembly.compile(await readFile(resolve('@jitl/quickjs-wasmfile-release-sync/wasm')))
}

/**
 * A new context in which only the prelude has run. `scope` owns all handles, to free them; `end`: deadline of the script, in
 * the time of `performance.now()`.
 */
function newContext({ quickjs, memory }: Engine) {
  const scope = new Scope()
  const runtime = scope.manage(quickjs.newRuntime())
  // Refuses a single allocation that could never fit, before the memory grows for it.
  runtime.setMemoryLimit(MEMORY_BYTES)
  runtime.setMaxStackSize(STACK_BYTES)
  const context = scope.manage(runtime.newContext())
  const call = scope.manage(context.evalCode(PRELUDE, 'prelude').unwrap())
  const prepared = { scope, runtime, context, memory, call, end: Infinity }
  runtime.setInterruptHandler(() => isLate(prepared))
  return prepared
}

const isLate = ({ end }: { readonly end: number }) => performance.now() > end

/**
 * The source of the function. Its start is on the first line of the script, so that lines count from 1. Its end is on a
 * new line, in case the script ends with a comment.
 */
const functionOf = (script: string) => `async function () {${script}\n}`

/**
 * Parses a script without running it. A script with an extra `}` that closes its function early could run code here; it
 * is refused, because the source of the resulting function differs from the text.
 */
function check({ scope, context }: SandboxContext, script: string) {
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

function runIn(prepared: SandboxContext, { script, names, timeout, maxResult }: Script) {
  prepared.end = performance.now() + timeout
  const outcome = names === null ? check(prepared, script) : resultOf(prepared, script, names, maxResult)
  return isLate(prepared)
    ? { name: 'TimeoutError', message: `the script computed for longer than ${timeout / 1000} s` }
    : outcome
}

function resultOf(prepared: SandboxContext, script: string, names: string, maxResult: number) {
  const { scope, runtime, context, call } = prepared
  const parsed = context.evalCode(`(${functionOf(script)})`, 'script')
  const body = scope.manage(parsed.error ?? parsed.value)
  if (parsed.error) return faultOf(context, body, script)

  const called = context.callFunction(
    call,
    context.undefined,
    body,
    scope.manage(context.newString(names)),
    scope.manage(context.newNumber(maxResult)),
  )
  const promise = scope.manage(called.error ?? called.value)
  if (called.error) return OUT_OF_MEMORY
  while (runtime.hasPendingJob() && !isLate(prepared)) {
    const done = runtime.executePendingJobs(JOBS)
    if (done.error) scope.manage(done.error)
  }
  const state = context.getPromiseState(promise)
  if (state.type === 'pending') return { name: 'Error', message: 'the script waits for something that never comes' }
  const result = scope.manage(state.type === 'fulfilled' ? state.value : state.error)
  // If there is no memory for the text of an error, the promise is rejected.
  if (state.type === 'rejected' || context.typeof(result) !== 'string') return OUT_OF_MEMORY
  const json = context.getString(result)
  // The prelude limits characters; here the bytes are counted.
  return json === '' || (json.startsWith(VALUE) && Buffer.byteLength(json) - VALUE.length - 1 > maxResult)
    ? tooLarge(maxResult)
    : { json }
}

function faultOf(context: QuickJSContext, error: QuickJSHandle, script: string) {
  const read = (key: string) =>
    context
      .getProp(error, key)
      .consume((handle) => (context.typeof(handle) === 'string' ? context.getString(handle) : ''))
  const line = lineOf(read('stack'))
  // A token missing at the end is reported on the line of the function's end, one line after the script.
  const place = line === undefined ? '' : `line ${Math.min(line, script.trimEnd().split('\n').length)}: `
  return { name: read('name') || 'Error', message: `${place}${read('message') || "it can't be parsed"}` }
}

/** The start of the JSON text of a value; a closing brace ends it. */
const VALUE = '{"value":'

function tooLarge(maxResult: number) {
  const { name, message } = new ResultTooLarge(maxResult)
  return { name, message }
}
