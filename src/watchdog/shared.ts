// watchdog: what the server's thread and the watchdog's thread share. In memory: a heartbeat counter, a switch, and the
// step to suspect when the server's thread can't be examined. When it can, it reports its facts.
import type { PackageFolder, RunningStep } from '../ports/steps.ts'

/** Name of the global symbol under which the server's thread has a function that returns its facts as JSON text. */
export const HOOK = 'actorflux.watchdog'

/** The state of the server that its thread reports when the watchdog has stopped it. */
export interface Facts {
  /** The step whose function started the running code, directly or asynchronously; null if none did. */
  readonly step: RunningStep | null
  /** Steps whose functions have not ended. */
  readonly running: readonly RunningStep[]
  readonly packages: readonly PackageFolder[]
  /** Whether the inspector is open. A debugger may stop the server for any time. */
  readonly isDebugged: boolean
  /** Used share of the heap limit, from 0 to 1. */
  readonly heap: number
}

const BEAT = 0
const OFF = 1
const LENGTH_AT = 2
const HEADER_BYTES = 3 * Int32Array.BYTES_PER_ELEMENT
const SUSPECT_BYTES = 4096

/** The step to report when the server's thread can't be asked. */
export interface Suspect {
  readonly step: RunningStep
  /**
   * Whether its function was called and has not even returned a promise. If false, it is the only function that runs.
   */
  readonly isCalled: boolean
}

export class Shared {
  readonly buffer: SharedArrayBuffer
  readonly #header: Int32Array
  readonly #text: Uint8Array

  /** `buffer`: that of the other thread; by default a new one. */
  constructor(buffer = new SharedArrayBuffer(HEADER_BYTES + SUSPECT_BYTES)) {
    this.buffer = buffer
    this.#header = new Int32Array(buffer, 0, 3)
    this.#text = new Uint8Array(buffer, HEADER_BYTES)
  }

  beat(isOff: boolean) {
    Atomics.store(this.#header, OFF, Number(isOff))
    Atomics.add(this.#header, BEAT, 1)
  }

  get beats() {
    return Atomics.load(this.#header, BEAT)
  }

  get isOff() {
    return Atomics.load(this.#header, OFF) === 1
  }

  /** A step whose text does not fit into the buffer is not stored. */
  set suspect(suspect: Suspect | null) {
    Atomics.store(this.#header, LENGTH_AT, 0)
    if (suspect === null) return
    const text = JSON.stringify(suspect)
    const { read, written } = new TextEncoder().encodeInto(text, this.#text)
    if (read === text.length) Atomics.store(this.#header, LENGTH_AT, written)
  }

  get suspect(): Suspect | null {
    const length = Atomics.load(this.#header, LENGTH_AT)
    if (length === 0) return null
    // TextDecoder does not accept shared memory, so the bytes are copied.
    const suspect: Suspect = JSON.parse(new TextDecoder().decode(this.#text.slice(0, length)))
    return suspect
  }
}
