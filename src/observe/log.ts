// observe: the log. It writes JSON lines, or readable lines on a terminal, to stderr, so that stdout has only a
// command's output.
import { createRequire } from 'node:module'
import { pino, type DestinationStream } from 'pino'
import { atEachLevel, type Log, type LogLevel } from '../ports/log.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import { redact } from './redact.ts'

export interface LogOptions {
  readonly level: LogLevel
  /** `auto` (the default): readable lines on a terminal, JSON otherwise. */
  readonly format?: LogFormat
  /** Where lines are written; stderr by default. */
  readonly destination?: DestinationStream | undefined
}

export type LogFormat = 'pretty' | 'json' | 'auto'

const STDERR = 2

export function createLog({ level, format = 'auto', destination }: LogOptions): Log {
  const isReadable = format === 'pretty' || (destination === undefined && formatHere(format) === 'pretty')
  // Synchronous: the last lines before the process exits are the most important ones.
  const lines = destination ?? pino.destination({ fd: STDERR, sync: true })
  const logger = pino({ level, base: { pid: process.pid } }, isReadable ? readable(lines) : lines)
  return atEachLevel((level) => (message, fields) => {
    if (!logger.isLevelEnabled(level)) return
    logger[level](redact(fields ?? {}), String(redact(message)))
  })
}

/** Resolves `auto` for this process. A worker thread can't: its `process.stderr` is not the terminal. */
export const formatHere = (format: LogFormat): LogFormat =>
  format !== 'auto' ? format : process.stderr.isTTY === true ? 'pretty' : 'json'

/** Formats lines for people, in colour on a terminal unless NO_COLOR is set (https://no-color.org). */
function readable(lines: DestinationStream): DestinationStream {
  const colorize = process.stderr.isTTY === true && !process.env['NO_COLOR']
  // Loaded on demand: a server that writes JSON starts without it.
  const { prettyFactory }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty')
  const format = prettyFactory({
    colorize,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname',
    customPrettifiers: { stack: (stack) => String(stack).replaceAll('\n', '\n    ') },
  })
  return {
    write: (line) => {
      lines.write(format(line))
    },
  }
}

/** A log that hides the values of secrets in its lines before it gives them to the other one. */
export function hidingLog(log: Log, secrets: Pick<ServiceSecrets, 'redactor'>): Log {
  return atEachLevel((level) => (message, fields) => {
    const redactor = secrets.redactor()
    if (redactor.isEmpty) return log[level](message, fields)
    log[level](String(redact(message, redactor)), fields && Object(redact(fields, redactor)))
  })
}
