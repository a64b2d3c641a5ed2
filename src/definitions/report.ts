// definitions: the report of all faults and warnings that loading finds.

export interface Fault {
  /** A fault prevents the service from being loaded; a warning does not. */
  readonly severity: 'fault' | 'warning'
  readonly file: string
  /** JSON pointer (RFC 6901) into the file; empty for the file as a whole. */
  readonly pointer: string
  readonly reason: string
  /** Whether the key at the pointer is meant; absent: the value. */
  readonly part?: 'key'
  /** Line in the file, from 1; absent if it is not known or not a single place. */
  readonly line?: number
  /** Column, from 1, in UTF-16 units. */
  readonly column?: number
}

/** A place of a definition that refers to a secret. Whether there is such a secret depends on the server. */
export interface SecretReference {
  readonly pointer: string
  readonly name: string
  /** Why a value can't be used at that place, without the value; null: it can. */
  readonly faultOf: (value: string) => string | null
}

/** Collects the faults of one file. */
export class Report {
  readonly file: string
  readonly faults: Fault[] = []
  /** References to secrets, found so far. */
  readonly secrets: SecretReference[] = []
  /** Whether the definition was accepted before, so that only what can't be run is a fault. */
  readonly pinned: boolean

  constructor(file: string, { pinned = false }: { readonly pinned?: boolean } = {}) {
    this.file = file
    this.pinned = pinned
  }

  fault(pointer: string, reason: string): void {
    this.faults.push({ severity: 'fault', file: this.file, pointer, reason })
  }

  /** Records a reference to a secret. */
  refer(reference: SecretReference): void {
    this.secrets.push(reference)
  }

  warn(pointer: string, reason: string): void {
    this.faults.push({ severity: 'warning', file: this.file, pointer, reason })
  }

  /** Reports an unknown key. A misspelt key is a fault, since its setting would silently have no effect. */
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
