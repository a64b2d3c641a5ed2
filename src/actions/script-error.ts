// actions: what a script threw, as an error here, and where.
import type { JsonObject } from '../model/json.ts'

interface Thrown {
  readonly name: string
  readonly message: string
  /** That of the class that the script's error was made of. */
  readonly className?: string
  /** Of the script, counted from 1. */
  readonly line?: number | undefined
  /** What else the thrown object held. */
  readonly fields?: JsonObject
}

/** Without a stack, which would tell where the server lies. */
export class ScriptError extends Error {
  constructor({ name, message, className = name, line, fields = {} }: Thrown) {
    super(message)
    const own = { ...line !== undefined && { line }, ...fields }
    for (const [key, value] of Object.entries(own)) Object.defineProperty(this, key, { value, enumerable: true, configurable: true, writable: true })
    this.name = name
    this.message = message
    this.stack = `${name}: ${message}`
    // Whoever shows an error asks this for the name of the class, and the script's class is not here.
    Object.defineProperty(this, 'constructor', { value: { name: className }, enumerable: false })
  }
}

/** Where in the script it came from, after what QuickJS tells; undefined: it doesn't. The constructor of an error is where it is made, not where it comes from. */
export function lineOf(stack: string, constructor = ''): number | undefined {
  const frames = stack.split('\n').filter((frame) => !frame.trimStart().startsWith(`at ${constructor} (`))
  const line = /\bscript:(\d+)/.exec(frames.join('\n'))?.[1]
  return line === undefined ? undefined : Number(line)
}
