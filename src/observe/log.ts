// observe: the log: JSON lines on stderr, so that stdout is free for what a command says.
import { pino, type DestinationStream } from 'pino'
import type { Log, LogLevel } from '../ports/log.ts'
import { redact } from './redact.ts'

export interface LogOptions {
  readonly level: LogLevel
  /** Where lines go; stderr if left out. */
  readonly destination?: DestinationStream | undefined
}

export function createLog({ level, destination }: LogOptions): Log {
  // Written at once, not in the background: the last lines before an exit matter most.
  const logger = pino({ level, base: { pid: process.pid } }, destination ?? pino.destination({ fd: 2, sync: true }))
  const at = (own: LogLevel) => (message: string, fields?: object) => {
    if (!logger.isLevelEnabled(own)) return
    logger[own](redact(fields ?? {}), String(redact(message)))
  }
  return { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
