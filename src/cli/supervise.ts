// cli: runs this very command in a process of its own, and starts that again when its watchdog has ended it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { EXIT, type World } from './command.ts'

/** Set for the process that is supervised: the id of the one that does. */
const SUPERVISOR = 'AF_SUPERVISOR_PID'
/** What a terminal sends, it sends to both; once is enough. */
const SIGNALS = process.stdin.isTTY ? (['SIGTERM'] as const) : (['SIGINT', 'SIGTERM', 'SIGHUP'] as const)

const ignore = () => {}

/** Whether this process is the one that is supervised. It ends with its supervisor. */
export function isSupervised(): boolean {
  if (process.env[SUPERVISOR] !== String(process.ppid)) return false
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  return true
}

/** Gives the exit code of the process that ended for another reason. A signal goes on to it. */
export async function supervise(world: World): Promise<number> {
  for (;;) {
    const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...world.env, [SUPERVISOR]: String(process.pid) },
    })
    const passOn = (signal: NodeJS.Signals) => void child.kill(signal)
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, ignore)
    for (const signal of SIGNALS) process.on(signal, passOn)
    const [code, signal]: (number | string | null)[] = await once(child, 'exit')
    for (const known of ['SIGINT', 'SIGHUP'] as const) process.off(known, ignore)
    for (const known of SIGNALS) process.off(known, passOn)
    // One that is within a call of the system can't be made to end with a code.
    if (code !== EXIT.again && signal !== 'SIGKILL') return typeof code === 'number' ? code : EXIT.failed
    world.err('actorflux: the server is started again')
  }
}
