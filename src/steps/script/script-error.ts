// steps: what a script threw, as an error here, and where.
import type { JsonObject } from '../../model/json/value.ts'

interface Thrown {
  readonly name: string
  readonly message: string
  /** That of the class that the script's error was made of. */
  readonly className?: string
  /** Of the script, counted from 1. */
  readonly line?: number | undefined
  /** Frames, as QuickJS tells them. */
  readonly frames?: string
  /** What else the thrown object held. */
  readonly fields?: JsonObject
}

/** Its stack has frames of the script alone: others would tell where the server lies. */
export class ScriptError extends Error {
  constructor({ name, message, className = name, line, frames = '', fields = {} }: Thrown) {
    super(message)
    const own = { ...(line !== undefined && { line }), ...fields }
    for (const [key, value] of Object.entries(own))
      Object.defineProperty(this, key, { value, enumerable: true, configurable: true, writable: true })
    this.name = name
    this.message = message
    this.stack = [`${name}: ${message}`, ...framesOf(frames, className).map((frame) => `    ${frame}`)].join('\n')
    // Whoever shows an error asks this for the name of the class, and the script's class is not here.
    Object.defineProperty(this, 'constructor', { value: { name: className }, enumerable: false })
  }
}

/** Characters before a script on its first line: it runs as the body of a function. */
const BEFORE = '(async function () {'.length
/** Frames beyond which a script that calls itself says nothing new. */
const MAX_FRAMES = 30

/** Those of the script, with places in it. */
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
 * Where in the script it came from, after what QuickJS tells; undefined: it doesn't. The constructor of an error is
 * where it is made, not where it comes from.
 */
export function lineOf(stack: string, constructor = ''): number | undefined {
  const frames = stack.split('\n').filter((frame) => !frame.trimStart().startsWith(`at ${constructor} (`))
  const line = /\bscript:(\d+)/.exec(frames.join('\n'))?.[1]
  return line === undefined ? undefined : Number(line)
}
