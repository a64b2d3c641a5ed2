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

interface Place extends Pick<Fault, 'file' | 'pointer'> {
  readonly line?: number | null | undefined
  readonly column?: number | null | undefined
}

/**
 * `Greeting.flux:12:5 #/states/0/action`, which editors and terminals lead to; without a place in the file,
 * `Greeting.flux#/states/0/action`.
 */
export const shownPlace = ({ file, pointer, line, column }: Place): string =>
  line == null ? `${file}#${pointer}` : `${file}:${line}:${column ?? 1} #${pointer}`

/** A place of a definition that refers to a secret. Whether there is such a secret depends on the server. */
export interface SecretReference {
  readonly pointer: string
  readonly name: string
  /** Why a value can't be used at that place, without the value; null: it can. Left out: any can. */
  readonly faultOf?: (value: string) => string | null
}

/** Collects the faults of one file. */
export class Report {
  readonly file: string
  readonly faults: Fault[] = []
  /** References to secrets, found so far. */
  readonly secrets: SecretReference[] = []

  constructor(file: string) {
    this.file = file
  }

  fault(pointer: string, reason: string, part?: 'key'): null {
    return this.#add('fault', pointer, reason, part)
  }

  warn(pointer: string, reason: string, part?: 'key'): null {
    return this.#add('warning', pointer, reason, part)
  }

  #add(severity: Fault['severity'], pointer: string, reason: string, part?: 'key') {
    this.faults.push({ severity, file: this.file, pointer, reason, ...(part && { part }) })
    return null
  }

  /** Whether there is a fault at that place itself. */
  hasFaultAt(pointer: string): boolean {
    return this.faults.some((fault) => fault.pointer === pointer && fault.severity === 'fault')
  }

  get broken(): boolean {
    return this.faults.some(({ severity }) => severity === 'fault')
  }
}
