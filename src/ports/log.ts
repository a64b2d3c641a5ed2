// ports: the structured log. Callers pass fields as data, and no secrets.

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error'

export type Log = { readonly [level in LogLevel]: (message: string, fields?: object) => void }
