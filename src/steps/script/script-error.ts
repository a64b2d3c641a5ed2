// steps: converts what a script threw to an error with its position in the script.
import type { JsonObject } from '../../model/json/value.ts'

interface Thrown {
  readonly name: string
  readonly message: string
  /** Name of the error's class in the script. */
  readonly className?: string
  /** Line of the script, from 1. */
  readonly line?: number | undefined
  /** Stack frames in the format of QuickJS. */
  readonly frames?: string
  /** Other fields of the thrown object. */
  readonly fields?: JsonObject
}

/** The error of a script. Its stack has only frames of the script: others would reveal paths of the server. */
export class ScriptError extends Error {
  constructor({ name, message, className = name, line, frames = '', fields = {} }: Thrown) {
    super(message)
    const own = { ...(line !== undefined && { line }), ...fields }
    for (const [key, value] of Object.entries(own))
      Object.defineProperty(this, key, { value, enumerable: true, configurable: true, writable: true })
    this.name = name
    this.message = message
    this.stack = [`${name}: ${message}`, ...framesOf(frames, className).map((frame) => `    ${frame}`)].join('\n')
    // Error views read the class name from `constructor`. The script's class does not exist in this process.
    Object.defineProperty(this, 'constructor', { value: { name: className }, enumerable: false })
  }
}

/** Number of characters before a script on its first line, because it runs as the body of a function. */
const BEFORE = '(async function () {'.length
/** Maximum number of frames, for recursive scripts. */
const MAX_FRAMES = 30

/** The frames of the script, with positions in it. */
function framesOf(stack: string, constructor: string): string[] {
  const frames = stack
    .split('\n')
    .map((frame) => frame.trim())
    .filter((frame) => !frame.startsWith(`at ${constructor} (`))
  return frames.slice(0, MAX_FRAMES).flatMap((frame) => {
    const [, called = '', line, column] = /^at ([^()]{0,200}) \(script:(\d{1,9}):(\d{1,9})\)$/.exec(frame) ?? []
    if (line === undefined) return []
    const place = `script:${line}:${line === '1' ? Math.max(1, Number(column) - BEFORE) : column}`
    return [called === '<anonymous>' ? `at ${place}` : `at ${called} (${place})`]
  })
}

/**
 * The line of the script that threw, from a stack of QuickJS; undefined: unknown. Frames of the error's constructor are
 * skipped.
 */
export function lineOf(stack: string, constructor = ''): number | undefined {
  const frames = stack.split('\n').filter((frame) => !frame.trimStart().startsWith(`at ${constructor} (`))
  const line = /\bscript:(\d+)/.exec(frames.join('\n'))?.[1]
  return line === undefined ? undefined : Number(line)
}
