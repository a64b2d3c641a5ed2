// model: an error of an action, as data.
import type { Json } from './json/value.ts'

export interface ActionError {
  readonly message: string
  readonly type: string
  readonly className: string
  readonly realException: Json
  /** Stack frames in the sources of users. */
  readonly stack?: string
}
