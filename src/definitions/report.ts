// definitions: the one report in which loading tells every fault it found.

export interface Fault {
  /** A fault keeps the server from starting; a warning doesn't. */
  readonly severity: 'fault' | 'warning'
  readonly file: string
  /** JSON pointer (RFC 6901) into the file; empty for the file as a whole. */
  readonly pointer: string
  readonly reason: string
}

/** Collects the faults of one file. */
export class Report {
  readonly file: string
  readonly faults: Fault[] = []

  constructor(file: string) {
    this.file = file
  }

  fault(pointer: string, reason: string): void {
    this.faults.push({ severity: 'fault', file: this.file, pointer, reason })
  }

  warn(pointer: string, reason: string): void {
    this.faults.push({ severity: 'warning', file: this.file, pointer, reason })
  }

  get broken(): boolean {
    return this.faults.some(({ severity }) => severity === 'fault')
  }
}
