// steps: converts what a script threw to an error with its position in the script.
import { isObject } from '../../model/json/value.ts'
import { errorWith } from '../processes/remote-error.ts'

export interface ScriptThrown {
  readonly name: string
  readonly message: string
  /** Name of the error's class in the script. */
  readonly className?: string
  /** In the format of QuickJS. */
  readonly stack?: string
  /** Other fields of the thrown object, as JSON text. */
  readonly fields?: string
}

/** Number of characters before a script on its first line, because it runs as the body of a function. */
const BEFORE = '(async function () {'.length

/** The error of a script, with positions in the script: `user-stack.ts` shows its frames. */
export function scriptError({ name, message, className = name, stack = '', fields = '{}' }: ScriptThrown): Error {
  // Without the frames of the error's constructor.
  const frames = stack.split('\n').filter((frame) => !frame.trim().startsWith(`at ${className} (`))
  const own = frames.join('\n')
  const line = lineOf(own)
  const data: unknown = JSON.parse(fields)
  const placed = own.replaceAll(
    /\(script:1:(\d+)\)/g,
    (_, column) => `(script:1:${Math.max(1, Number(column) - BEFORE)})`,
  )
  return errorWith({
    name,
    message,
    stack: `${name}: ${message}\n${placed}`,
    className,
    fields: { ...(line !== undefined && { line }), ...(isObject(data) && data) },
  })
}

/** The line of the script that threw, from a stack of QuickJS; undefined: unknown. */
export function lineOf(stack: string): number | undefined {
  const line = /\bscript:(\d+)/.exec(stack)?.[1]
  return line === undefined ? undefined : Number(line)
}
