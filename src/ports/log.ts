// ports: the structured log. Callers pass fields as data, and no secrets.

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error'

export type Log = { readonly [level in LogLevel]: (message: string, fields?: object) => void }

/** One value for each level. */
export const atEachLevel = <T>(at: (level: LogLevel) => T): { readonly [level in LogLevel]: T } => ({
  trace: at('trace'),
  debug: at('debug'),
  info: at('info'),
  warn: at('warn'),
  error: at('error'),
})
