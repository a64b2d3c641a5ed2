// What the tests share that use the client as programs do: the built files in a folder, as a package that can be imported.
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const ROOT = resolve(import.meta.dirname, '../..')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

export interface BuiltClient {
  /** Where a program would be that depends on the package. */
  readonly folder: string
  /** The built files of the client, and of all that it is made of. */
  readonly dist: string
  remove(): Promise<void>
}

/** Runs the compiler; gives what it says about files, '' if they have no fault. */
export async function compile(...args: string[]): Promise<string> {
  try {
    await promisify(execFile)(process.execPath, [TSC, ...args], { cwd: ROOT })
    return ''
  } catch (error) {
    if (error instanceof Error && 'stdout' in error && typeof error.stdout === 'string' && error.stdout !== '')
      return error.stdout
    throw error
  }
}

export async function buildClient(): Promise<BuiltClient> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'actorflux-client-')))
  const owned = join(folder, 'node_modules/actorflux')
  const dist = join(owned, 'dist')
  await mkdir(owned, { recursive: true })
  await copyFile(join(ROOT, 'package.json'), join(owned, 'package.json'))
  await symlink(join(ROOT, 'node_modules/zod'), join(folder, 'node_modules/zod'))
  const config = join(folder, 'build.json')
  const compilerOptions = { rootDir: join(ROOT, 'src'), outDir: dist, tsBuildInfoFile: null, sourceMap: false }
  await writeFile(
    config,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { ...compilerOptions, typeRoots: [join(ROOT, 'node_modules/@types')] },
      files: [join(ROOT, 'src/client/client.ts')],
      include: [],
    }),
  )
  const faults = await compile('-p', config)
  if (faults !== '') throw new Error(faults)
  await promisify(execFile)('npm', ['run', '--silent', 'routes'], { cwd: owned })
  return { folder, dist, remove: () => rm(folder, { recursive: true, force: true }) }
}
