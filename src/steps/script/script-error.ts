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

/** The error of a script. Its stack has only frames of the script: others would reveal paths of the server. */
export function scriptError({ name, message, className = name, stack = '', fields = '{}' }: ScriptThrown): Error {
  const line = lineOf(stack, className)
  const data: unknown = JSON.parse(fields)
  return errorWith({
    name,
    message,
    stack: [`${name}: ${message}`, ...framesOf(stack, className).map((frame) => `    ${frame}`)].join('\n'),
    className,
    fields: { ...(line !== undefined && { line }), ...(isObject(data) && data) },
  })
}

/** Number of characters before a script on its first line, because it runs as the body of a function. */
const BEFORE = '(async function () {'.length
/** Maximum number of frames, for recursive scripts. */
const MAX_FRAMES = 30

/** The frames of the script, with positions in it. */
function framesOf(stack: string, constructor: string): string[] {
  return withoutConstructor(stack, constructor)
    .slice(0, MAX_FRAMES)
    .flatMap((frame) => {
      const [, called = '', line, column] = /^at ([^()]{0,200}) \(script:(\d{1,9}):(\d{1,9})\)$/.exec(frame) ?? []
      if (line === undefined) return []
      const place = `script:${line}:${line === '1' ? Math.max(1, Number(column) - BEFORE) : column}`
      return [called === '<anonymous>' ? `at ${place}` : `at ${called} (${place})`]
    })
}

/** The line of the script that threw, from a stack of QuickJS; undefined: unknown. */
export function lineOf(stack: string, constructor = ''): number | undefined {
  const line = /\bscript:(\d+)/.exec(withoutConstructor(stack, constructor).join('\n'))?.[1]
  return line === undefined ? undefined : Number(line)
}

/** The frames of a stack, without those of the error's constructor. */
const withoutConstructor = (stack: string, constructor: string): string[] =>
  stack
    .split('\n')
    .map((frame) => frame.trim())
    .filter((frame) => !frame.startsWith(`at ${constructor} (`))
