// cli: `actorflux init`: writes a first service into a folder, and what an editor and a compiler need for it.
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CliIo } from './cli-io.ts'
import { command, UsageError } from './command.ts'
import { projectFiles } from './init/files.ts'
import { versionText } from './version.ts'

export const init = command({
  summary: 'write a first service into the folder, else into this one',
  word: '[folder]',
  notes: `It writes a service with its function, and what an editor and the TypeScript compiler need for it. It never overwrites:
if one of its files is there already, it writes nothing.

Writes ${[...projectFiles('').keys()].join(', ')}.`,
  async run({ word }, { out }) {
    const folder = relative('.', word)
    await writeProject(folder, out)
    out(nextSteps(folder))
  },
})

/**
 * Writes the files of a new project, and prints a line for each.
 * @throws Error that names a file that is there already; then nothing was written
 */
async function writeProject(folder: string, out: CliIo['out']) {
  const files = [...projectFiles(await dependency())].map(([path, text]) => [join(folder, path), text] as const)
  for (const [path] of files) if (existsSync(path)) throw new Error(`${path} is there already: nothing was written`)
  for (const [path, text] of files) {
    await mkdir(dirname(path), { recursive: true })
    // A file that was written meanwhile stays as it is.
    await writeFile(path, text, { flag: 'wx' })
    out(`wrote ${path}`)
  }
}

/** Where this program is: `node_modules/actorflux`, or a clone. */
const ROOT = dirname(fileURLToPath(new URL('../../package.json', import.meta.url)))

/** How a project depends on actorflux, so that npm installs it from where this program came. */
async function dependency() {
  const modules = dirname(ROOT)
  const notes = await readFile(join(modules, '.package-lock.json'), 'utf8').catch(() => '{}')
  const { packages }: { packages?: { [path: string]: { resolved?: string } } } = JSON.parse(notes)
  const installed = packages?.['node_modules/actorflux']
  // A clone, or installed by something else than npm.
  if (installed === undefined) return `file:${ROOT}`
  const { resolved } = installed
  // npm may be set to leave out the addresses of its registry.
  if (resolved === undefined || /\/actorflux\/-\/actorflux-[^/]+\.tgz$/.test(resolved)) return `^${versionText()}`
  if (!resolved.startsWith('file:')) return resolved
  const file = resolve(modules, '..', resolved.slice('file:'.length))
  return `file:${existsSync(file) ? file : ROOT}`
}

/** Offers to write a project, where there is no service; resolves with whether it did. */
export async function offerProject({ ask, out }: CliIo): Promise<boolean> {
  if (ask === null) throw new UsageError('there is no folder actors here; actorflux init writes a first service')
  const answer = await ask('There is no folder actors here. Write a first service? [Y/n] ')
  if (!/^(?:y|yes)?$/i.test(answer.trim())) return false
  await writeProject('', out)
  return true
}

function nextSteps(folder: string) {
  const change = folder === '' ? '' : `\n  cd ${/^[\w./-]+$/.test(folder) ? folder : JSON.stringify(folder)}`
  return `
Next:${change}
  npm install
  npx actorflux dev

and in another terminal:
  npx actorflux execute hello/Approval --input '{"name":"Ada"}'
  npx actorflux event send approve --context-id 1
  npx actorflux context show 1`
}
