// definitions: the one report in which loading tells every fault it found.

export interface Fault {
  /** A fault keeps the server from starting; a warning doesn't. */
  readonly severity: 'fault' | 'warning'
  readonly file: string
  /** JSON pointer (RFC 6901) into the file; empty for the file as a whole. */
  readonly pointer: string
  readonly reason: string
  /** What of the place that the pointer leads to is meant; left out: the value. */
  readonly part?: 'key'
  /** Where that is in the file, from 1; left out where it isn't known, or isn't one place. */
  readonly line?: number
  /** From 1, in UTF-16 units. */
  readonly column?: number
}

export interface Part<T> {
  readonly value: T
  readonly fault: string | null
}

/** Collects the faults of one file. */
export class Report {
  readonly file: string
  readonly faults: Fault[] = []
  /** Whether the file was accepted before, so that only what can't be run is a fault. */
  readonly pinned: boolean
  /** The first fault of the part that is being compiled. */
  #fault: string | null = null

  constructor(file: string, { pinned = false }: { readonly pinned?: boolean } = {}) {
    this.file = file
    this.pinned = pinned
  }

  fault(pointer: string, reason: string): void {
    this.faults.push({ severity: 'fault', file: this.file, pointer, reason })
    this.#fault ??= `${pointer}: ${reason}`
  }

  /** Compiles a part. `fault`: why it can't be run; null: it can. Parts inside of it have their own. */
  part<T>(compile: () => T): Part<T> {
    const around = this.#fault
    this.#fault = null
    const value = compile()
    const fault = this.#fault
    this.#fault = around
    return { value, fault }
  }

  warn(pointer: string, reason: string): void {
    this.faults.push({ severity: 'warning', file: this.file, pointer, reason })
  }

  /** A key that means nothing. One that is `misspelt` is a fault: what it was to say would silently not hold. */
  unknownKey(pointer: string, reason: string, { misspelt }: { readonly misspelt: boolean }): void {
    this.faults.push({
      severity: misspelt && !this.pinned ? 'fault' : 'warning',
      file: this.file,
      pointer,
      reason,
      part: 'key',
    })
  }

  get broken(): boolean {
    return this.faults.some(({ severity }) => severity === 'fault')
  }
}
