// api: what is said of a call that takes many requests of another one, a line each, and answers each by a line.
import { z } from 'zod'
import type { Call, FieldShape } from './call.ts'
import { component } from './component.ts'
import { problemSchema } from './problem.ts'

export interface StreamCall {
  /** The operationId. */
  readonly id: string
  readonly summary: string
  readonly route: string
  /** What each line asks for. */
  readonly each: Call
  /** Fields of a line. */
  readonly line: FieldShape
  readonly lineExample: object
  /** A line of the answer. */
  readonly answer: z.ZodType
  /** Of one that is carried out after it was answered. */
  readonly accepted?: z.ZodType
  readonly answerExample: object
}

export const replayedLine = z
  .literal(true)
  .exactOptional()
  .meta({ description: 'There where the line repeats an earlier request under its key, and has the answer to that' })

const count = z.number().int().nonnegative()

export const refusedLine = component(
  'RefusedLine',
  z.object({
    n: count.meta({ description: 'Place of the line, from 0; empty lines do not count' }),
    status: z.number().int(),
    problem: problemSchema,
    retryAfter: z.number().int().exactOptional().meta({ description: 'Seconds after which to try again' }),
  }),
)

export const lastLine = component(
  'LastLine',
  z.object({
    done: z.boolean().meta({ description: 'False: the request was broken off, and `problem` says why' }),
    lines: count,
    ok: count,
    failed: count,
    problem: problemSchema.exactOptional(),
  }),
  { description: 'The end of the answer. An answer without it was cut off' },
)

export type RefusedLine = z.output<typeof refusedLine>
export type LastLine = z.output<typeof lastLine>
