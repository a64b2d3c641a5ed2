// ports: the log. Fields first-class, no secrets in them.

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error'

export type Log = { readonly [level in LogLevel]: (message: string, fields?: object) => void }
