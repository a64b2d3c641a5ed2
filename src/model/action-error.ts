// model: an error of an action, as data.
import type { Json } from './json/value.ts'

export interface ActionError {
  readonly message: string
  readonly type: string
  readonly className: string
  readonly realException: Json
  /** Where in the sources of users it arose. */
  readonly stack?: string
}
