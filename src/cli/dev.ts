// cli: `actorflux dev`: serves, and loads the services again whenever one of their files changes. The server runs in a child
// process, which is started again when its watchdog has ended it.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { watchFolders } from '../definitions/watcher.ts'
import type { Server } from '../main.ts'
import type { Log } from '../ports/log.ts'
import type { CliIo } from './cli-io.ts'
import { command, EXIT } from './command.ts'
import { offerProject } from './init.ts'
import { counted, isBroken, reportLines, reportSummary } from './report.ts'
import { runServer, SERVE_OPTIONS, SETTINGS_HELP, settingsOf } from './serve.ts'

export const dev = command({
  summary: 'serve, and load the services again when a file changes; one with a fault stays as it was',
  options: SERVE_OPTIONS,
  notes: `In a folder without services it offers to write a first one.
Starts the server again when a function has blocked it for ACTORFLUX_WATCHDOG_KILL.

${SETTINGS_HELP}`,
  async run({ values }, io) {
    // Reports a mistake on the command line before a process is started.
    const { actors } = settingsOf(values, io)
    if (isSupervised())
      return runServer(values, io, (server, log) => watchFolders(actors, () => reload(server, io, log)))
    const isEmpty = io.env['ACTORFLUX_ACTORS'] === undefined && !actors.some(existsSync)
    if (isEmpty && !(await offerProject(io))) return EXIT.failed
    return supervise(io)
  },
})

async function reload(server: Server, io: CliIo, log: Log) {
  try {
    const { services, report } = await server.reload()
    reportLines(report).forEach(io.out)
    const kept = isBroken(report) ? '; services with faults stay as they were' : ''
    io.out(`loaded ${counted(services.length, 'service')}: ${reportSummary(report)}${kept}`)
  } catch (error) {
    log.error('the services could not be loaded again', { error })
  }
}

/** Environment variable of the supervised process: the id of its supervisor. */
const SUPERVISOR = 'AF_SUPERVISOR_PID'

/** Whether this process is the supervised one. If so, it ends with its supervisor. */
function isSupervised() {
  if (process.env[SUPERVISOR] !== String(process.ppid)) return false
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  return true
}

/** Runs the same command in a child process until that ends for a reason other than its watchdog. Forwards signals. */
async function supervise(io: CliIo) {
  const [, program = '', ...args] = process.argv
  let child: ChildProcess | null = null
  // A terminal sends SIGINT and SIGHUP to both processes, so these are not forwarded there.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (signal === 'SIGTERM' || !process.stdin.isTTY) child?.kill(signal)
    })
  for (;;) {
    child = fork(program, args, { env: { ...io.env, [SUPERVISOR]: String(process.pid) } })
    const [code, signal]: (number | string | null)[] = await once(child, 'exit')
    // The watchdog kills a process that is blocked within a system call, because it cannot exit with a code.
    if (code !== EXIT.again && signal !== 'SIGKILL') return typeof code === 'number' ? code : EXIT.failed
    io.err('actorflux: the server is started again')
  }
}
