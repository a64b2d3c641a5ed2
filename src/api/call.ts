// api: what is said of each call. Validation, routes, the OpenAPI document and the XML Schema are made from it.
import { z } from 'zod'
import type { Role } from '../model/caller.ts'

export type FieldShape = z.core.$ZodLooseShape
type None = Record<never, never>

/** What a call says of itself, besides its fields. */
interface Facts {
  /** The method of `FluxApi`, and the operationId. */
  readonly id: string
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly route: string
  /** Needed for what is secured. */
  readonly role: Role
  /** Fields whose faults are of content (422), not of form (400). */
  readonly content?: readonly string[]
  /**
   * Whether in process, too, fields that it doesn't know are refused: what is passed over would do more, or show more.
   */
  readonly strict?: true
  /** Statuses of the problems that it may meet, besides those that any call may. */
  readonly problems: readonly number[]
  readonly bodyExample?: object
  readonly answerExample: unknown
  /** Names of headers that the answer may have, and what they say. */
  readonly answerHeaders?: { readonly [name: string]: string }
}

interface Parts<
  P extends FieldShape,
  Q extends FieldShape,
  B extends FieldShape,
  I extends FieldShape,
  A extends z.ZodType,
> extends Facts {
  readonly path?: P
  readonly query?: Q
  readonly body?: B
  /** Fields that only callers in process have. */
  readonly internal?: I
  /** What the fields must be together. */
  readonly together?: (fields: z.output<z.ZodObject<P & Q & B & I>>, issues: z.RefinementCtx) => void
  readonly answer: A
}

export interface Call<R extends z.ZodType = z.ZodType, A extends z.ZodType = z.ZodType> extends Facts {
  readonly path: FieldShape
  readonly query: FieldShape
  readonly body: FieldShape | null
  /** All fields together, as callers in process give them. */
  readonly request: R
  readonly fields: ReadonlySet<string>
  /** Its `meta` has what XML calls the root. */
  readonly answer: A
}

export function describeCall<
  A extends z.ZodType,
  P extends FieldShape = None,
  Q extends FieldShape = None,
  B extends FieldShape = None,
  I extends FieldShape = None,
>({ path, query, body, internal, together, ...facts }: Parts<P, Q, B, I, A>) {
  const shape: P & Q & B & I = Object.assign({}, path, query, body, internal)
  return {
    ...facts,
    path: path ?? {},
    query: query ?? {},
    body: body ?? null,
    request: together ? z.object(shape).superRefine(together) : z.object(shape),
    fields: new Set(Object.keys(shape)),
  }
}

/** What callers give. */
export type RequestOf<C extends Call> = z.input<C['request']>
/** The same once it was checked. */
export type Checked<C extends Call> = z.output<C['request']>
export type AnswerOf<C extends Call> = z.output<C['answer']>

/** What XML calls the answer of a call. */
export function rootOf(answer: z.ZodType): string {
  const xml: unknown = answer.meta()?.['xml']
  return typeof xml === 'object' && xml !== null && 'name' in xml ? String(xml.name) : 'response'
}
