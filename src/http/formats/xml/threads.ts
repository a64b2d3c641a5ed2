// http: decodes large XML in a thread, so that other requests are served meanwhile. The thread starts when it is first
// needed, and ends when it has been idle for a while.
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { FluxError, unavailable } from '../../../model/failure.ts'
import type { Json } from '../../../model/json/value.ts'
import { decodeXml, type XmlOptions } from './decode.ts'
import { joinTransferred } from './transfer.ts'
import type { FromThread, DecodeOutcome, DecodeJob } from './thread.ts'

/** Most characters and tags of a document that is decoded without the thread: some milliseconds of work. */
const SMALL = { length: 32_768, tags: 2000 }
/** Milliseconds after which an idle thread ends. */
const IDLE_MS = 30_000
/** Milliseconds that a document may take; a megabyte of it takes some tenths of a second. */
const MAX_TIME_MS = 5_000
const MAX_TIME_PER_CHARACTER_MS = 0.01
/** Most characters of the documents that wait: some seconds of work. */
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024

interface Job {
  readonly document: DecodeJob
  settle(outcome: DecodeOutcome): void
  fail(error: FluxError): void
}

/**
 * The data of an XML document; without a promise if it is small.
 * @throws FluxError as `decodeXml`; also `unavailable` when too many documents wait, when decoding takes too long, or
 * when the thread fails
 */
export const decodeLargeXml = (text: string, options: XmlOptions): Json | Promise<Json> =>
  isSmall(text) ? decodeXml(text, options) : decoder.decode({ text, options })

function isSmall(text: string): boolean {
  if (text.length > SMALL.length) return false
  let tags = 0
  for (let at = text.indexOf('<'); at !== -1 && tags <= SMALL.tags; at = text.indexOf('<', at + 1)) tags++
  return tags <= SMALL.tags
}

class XmlThread {
  readonly #waiting: Job[] = []
  #length = 0
  #worker: Worker | null = null
  #isReady = false
  #job: Job | null = null
  #timer: NodeJS.Timeout | undefined

  async decode(document: DecodeJob): Promise<Json> {
    if (this.#length > MAX_WAITING_CHARACTERS) throw unavailable('too many large bodies wait to be read')
    this.#length += document.text.length
    const outcome = await new Promise<DecodeOutcome>((settle, fail) => {
      this.#waiting.push({ document, settle, fail })
      if (this.#job === null) this.#next()
    })
    if ('failure' in outcome) throw new FluxError(outcome.failure)
    if ('fault' in outcome) throw new Error(`XML could not be decoded: ${outcome.fault}`)
    return joinTransferred(outcome.pieces)
  }

  /**
   * Starts the next document, or the one that waits for the thread to be ready. Must not be called while a document is
   * being decoded.
   */
  #next(): void {
    if (this.#job === null) {
      this.#job = this.#waiting.shift() ?? null
      this.#length -= this.#job?.document.text.length ?? 0
    }
    if (this.#job === null) {
      this.#worker?.unref()
      this.#limit(IDLE_MS, () => this.#end(null))
      this.#timer?.unref()
      return
    }
    this.#worker ??= this.#start()
    this.#worker.ref()
    const { document } = this.#job
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    if (this.#isReady) this.#worker.postMessage(document)
    const longest = MAX_TIME_MS + document.text.length * MAX_TIME_PER_CHARACTER_MS
    // Two timers in succession: if this process was blocked, the outcome may have arrived when the first one fires.
    this.#limit(longest / 2, () =>
      this.#limit(longest / 2, () => this.#end(unavailable('the body took too long to read'))),
    )
  }

  #limit(milliseconds: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, milliseconds)
  }

  #start(): Worker {
    const worker = startWorker()
    const broken = (cause: unknown) => {
      if (worker === this.#worker)
        this.#end(unavailable('the body could not be read: the thread that reads it broke off', { cause }))
    }
    worker
      .on('message', ({ outcome }: FromThread) => {
        if (worker !== this.#worker) return
        this.#isReady = true
        if (outcome !== undefined) {
          this.#job?.settle(outcome)
          this.#job = null
        }
        this.#next()
      })
      .on('error', broken)
      .on('exit', broken)
    return worker
  }

  #end(error: FluxError | null): void {
    clearTimeout(this.#timer)
    void this.#worker?.terminate()
    this.#worker = null
    this.#isReady = false
    if (error === null) return
    this.#job?.fail(error)
    this.#job = null
    if (this.#waiting.length > 0) this.#next()
  }
}

const decoder = new XmlThread()

/** Starts a thread without arguments, environment, or access to the process's output. */
function startWorker(): Worker {
  const options = { execArgv: [], env: {}, stdout: true, stderr: true }
  return import.meta.url.endsWith('.js')
    ? new Worker(new URL('./thread.js', import.meta.url), options)
    : fromSource(options)
}

/** Starts the thread from the TypeScript source, which Node cannot load by itself. */
function fromSource(options: object): Worker {
  const data = {
    jiti: createRequire(import.meta.url).resolve('jiti'),
    file: new URL('./thread.ts', import.meta.url).href,
  }
  return new Worker(
    'const { jiti, file } = require("worker_threads").workerData; require(jiti).createJiti(file).import(file)',
    {
      ...options,
      eval: true,
      workerData: data,
    },
  )
}
