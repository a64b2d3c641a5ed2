// A machine without Redis: what is installed is said before, and can be prevented.
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/**
 * Runs the setup with nothing on the PATH but a package manager that installs nothing. Gives what it wrote, and what it
 * ran.
 */
async function setUp(
  env: { readonly [name: string]: string } = {},
): Promise<{ code: unknown; lines: string[]; ran: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-path-'))
  try {
    // As root, and not as root.
    for (const name of ['env', 'sudo']) {
      await writeFile(join(folder, name), `#!/bin/sh\necho "$@" >> ${folder}/ran\necho fine\n`)
      await chmod(join(folder, name), 0o755)
    }
    const script = `
      import { createJiti } from 'jiti'
      const { default: setup } = await createJiti(${JSON.stringify(import.meta.dirname)}).import('./redis-setup.ts')
      await setup({ provide() {} })`
    const { code, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { PATH: folder, ...env },
    }).then(
      ({ stderr }) => ({ code: 0, stderr }),
      (error: { code: unknown; stderr: string }) => error,
    )
    const ran = await readFile(join(folder, 'ran'), 'utf8').catch(() => '')
    return { code, lines: stderr.trim().split('\n'), ran: ran.split('\n').filter((line) => line.includes('apt-get')) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('it is said in one line what is installed, and how to prevent that', async () => {
  const { code, lines, ran } = await setUp()
  expect(code).toBe(1)
  expect(ran.at(-1)).toContain('install -y --no-install-recommends redis-server redis-tools')
  expect(lines).toEqual([
    expect.stringMatching(
      /^redis-server 7\.0 or newer is not on the PATH: installing it \(.*apt-get .*install .*redis-server redis-tools\); ACTORFLUX_TEST_INSTALL=false prevents that$/,
    ),
    expect.stringMatching(/^The tests need redis-server and redis-cli, 7\.0 or newer, on the PATH: /),
  ])
})

test('nothing is installed where that is prevented', async () => {
  const { code, lines, ran } = await setUp({ ACTORFLUX_TEST_INSTALL: 'false' })
  expect(code).toBe(1)
  expect(ran).toEqual([])
  expect(lines).toEqual([expect.stringMatching(/^The tests need redis-server and redis-cli/)])
})
