// cli: `actorflux init`: writes a first service into a folder, and what an editor and a compiler need for it.
import { mkdir, open, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../model/error-message.ts'
import { EXIT, UsageError, type Command, type World } from './command.ts'
import { projectFiles } from './init/files.ts'
import { versionText } from './version.ts'

const HELP = `Usage: actorflux init [folder]

Writes a service with its function, and what an editor and the TypeScript compiler need for it, into the folder, else into
this one. It never overwrites: if one of its files is there already, it writes nothing.

Writes ${[...projectFiles('').keys()].join(', ')}.`

export const init: Command = async (args, world) => {
  const { help, folder } = readArguments(args)
  if (help) {
    world.out(HELP)
    return EXIT.fine
  }
  await writeProject(folder)
  for (const line of nextSteps(folder)) world.out(line)
  return EXIT.fine
}

/**
 * Writes the files of a new project.
 * @throws Error that names a file that is there already; then nothing was written
 */
export async function writeProject(folder: string): Promise<void> {
  const files = [...projectFiles(versionText())].map(([path, text]) => [join(folder, path), text] as const)
  for (const [path] of files) if (await exists(path)) throw new Error(`${path} is there already: nothing was written`)
  for (const [path, text] of files) {
    await mkdir(dirname(path), { recursive: true })
    // A file that somebody has written meanwhile stays as it is.
    const file = await open(path, 'wx')
    await file.writeFile(text).finally(() => file.close())
  }
}

/** Offers to write a project, where there is no service; resolves with whether it did. */
export async function offerProject({ ask, out }: World): Promise<boolean> {
  if (ask === null) throw new UsageError('there is no folder actors here; actorflux init writes a first service')
  const answer = await ask('There is no folder actors here. Write a first service? [Y/n] ')
  if (!/^(?:y|yes)?$/i.test(answer.trim())) return false
  await writeProject('.')
  for (const path of projectFiles('').keys()) out(`wrote ${path}`)
  return true
}

function nextSteps(folder: string): string[] {
  const away = relative('.', folder)
  return [
    ...[...projectFiles('').keys()].map((path) => `wrote ${join(away, path)}`),
    '',
    'Next:',
    ...(away === '' ? [] : [`  cd ${/^[\w./-]+$/.test(away) ? away : JSON.stringify(away)}`]),
    '  npm install',
    '  npx actorflux dev',
    '',
    'and in another terminal:',
    `  npx actorflux execute hello/Approval --input '{"name":"Ada"}'`,
    `  npx actorflux event send approve --context-id 1`,
    `  npx actorflux context show 1`,
  ]
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch {
    return false
  }
}

/** @throws UsageError */
function readArguments(args: string[]): { readonly help: boolean; readonly folder: string } {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' } },
    })
    const [folder = '.', ...more] = positionals
    if (more.length > 0) throw new UsageError('init takes one folder')
    return { help: values.help ?? false, folder }
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(messageOf(error))
  }
}
