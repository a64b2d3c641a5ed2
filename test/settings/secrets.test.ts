// Secrets of the environment: the value or its file, what counts as missing, and files that change.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { unknownSettings } from '../../src/settings.ts'
import { openSecrets } from '../../src/settings/secrets.ts'
import { folderOf, write } from '../definitions/catalog-files.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { nextTurn } from '../support/held.ts'

const FILE = 'ACTORFLUX_SECRET_KEY_FILE'

/** A file with this content, and the secret KEY in it. */
async function inFile(content: string | Uint8Array) {
  const folder = await folderOf({ key: content })
  const file = join(folder, 'key')
  return { folder, file, secrets: await openSecrets({ [FILE]: file }) }
}

describe('a secret', () => {
  test('is the value of its variable, as it is', async () => {
    const secrets = await openSecrets({ ACTORFLUX_SECRET_KEY: ' a\n', ACTORFLUX_SECRET_K_2: 'b', ACTORFLUX_PORT: '1' })
    expect([secrets.get('KEY'), secrets.get('K_2'), secrets.get('PORT')]).toEqual([' a\n', 'b', null])
  })

  test.each([
    ['a', 'a'],
    ['a\n', 'a'],
    ['a\r\n', 'a'],
    ['a\n\n', 'a\n'],
    [' é😀 ', ' é😀 '],
  ])('is the text of its file without one line break at its end: %j', async (content, value) => {
    expect((await inFile(content)).secrets.get('KEY')).toBe(value)
  })

  test.each([
    ['is empty', ''],
    ['is empty', '\n'],
    ['is no UTF-8', new Uint8Array([0xff, 0x41])],
    ['is larger than 1 MB', 'a'.repeat(1024 * 1024 + 1)],
  ])('is missing if its file %s', async (reason, content) => {
    const { secrets } = await inFile(content)
    expect(secrets.get('KEY')).toBeNull()
    expect(secrets.fault('KEY')).toEqual({
      reason: `there is no secret KEY: the file of ${FILE} ${reason}`,
      isTwofold: false,
    })
  })

  test('is missing if its file is none', async () => {
    const folder = await folderOf({})
    const none = await openSecrets({ [FILE]: join(folder, 'none') })
    expect(none.fault('KEY').reason).toMatch(/^there is no secret KEY: the file of \w+ can't be read: ENOENT/)
    const secrets = await openSecrets({ [FILE]: folder })
    expect(secrets.fault('KEY').reason).toMatch(/is no regular file$/)
  })

  test('that is empty counts as missing, and the message names what to set', async () => {
    const secrets = await openSecrets({ ACTORFLUX_SECRET_KEY: '', [FILE]: '', ACTORFLUX_SECRET_STRIPE: 'x' })
    expect(secrets.get('KEY')).toBeNull()
    expect(secrets.fault('STRIP').reason).toBe(
      "there is no secret STRIP: set ACTORFLUX_SECRET_STRIP, or ACTORFLUX_SECRET_STRIP_FILE to the file that has it; did you mean 'STRIPE'?",
    )
  })

  test('that is set twice is none, and the message has neither value', async () => {
    const { file } = await inFile('other-value')
    const secrets = await openSecrets({ ACTORFLUX_SECRET_KEY: 'one-value', [FILE]: file })
    expect(secrets.get('KEY')).toBeNull()
    expect(secrets.fault('KEY')).toEqual({
      reason: `the secret KEY is set twice, by ACTORFLUX_SECRET_KEY and by ${FILE}`,
      isTwofold: true,
    })
  })

  test('is no unknown setting, unless its name is none', () => {
    const variables = ['ACTORFLUX_SECRET_KEY', FILE, 'ACTORFLUX_SECRET_key', 'ACTORFLUX_SECRET_', 'ACTORFLUX_SECRET_1A']
    expect(unknownSettings(Object.fromEntries(variables.map((variable) => [variable, 'x'])))).toEqual([
      'ACTORFLUX_SECRET_',
      'ACTORFLUX_SECRET_1A',
      'ACTORFLUX_SECRET_key',
    ])
  })
})

async function watched(content: string) {
  const { file, folder, secrets } = await inFile(content)
  const clock = new SimulatedClock()
  const errors: string[] = []
  secrets.watch(clock, (name, reason) => errors.push(`${name} ${reason}`))
  onTestFinished(() => secrets.close())
  /** What was changed counts within 5 seconds. */
  const later = async () => {
    const end = clock.now() + 5000
    while (clock.now() < end) {
      await clock.advance(100)
      // The files are read in real time.
      await expect.poll(() => clock.pending.length).toBe(1)
    }
  }
  return { file, folder, secrets, errors, clock, later }
}

describe('a file that changes', () => {
  test('gives the new value within 5 seconds, and both values are hidden', async () => {
    const { file, secrets, errors, later } = await watched('first-value\n')
    expect(secrets.redactor().text('first-value')).toBe('[redacted]')
    await writeFile(file, 'second-value\n')
    await later()
    expect(secrets.get('KEY')).toBe('second-value')
    expect(secrets.redactor().text('first-value, second-value')).toBe('[redacted], [redacted]')
    expect(errors).toEqual([])
  })

  test('keeps its last value while it is unusable, which is told once', async () => {
    const { file, secrets, errors, later } = await watched('first-value')
    await rm(file)
    await later()
    await later()
    expect(secrets.get('KEY')).toBe('first-value')
    expect(errors).toEqual([expect.stringMatching(/^KEY can't be read: ENOENT/)])
    await mkdir(file)
    await later()
    expect(errors[1]).toBe('KEY is no regular file')
    await rm(file, { recursive: true })
    await writeFile(file, 'third-value')
    await later()
    expect(secrets.get('KEY')).toBe('third-value')
    for (const _ of [1, 2]) {
      await rm(file)
      await later()
      await writeFile(file, 'third-value')
      await later()
    }
    expect(errors).toHaveLength(4)
  })

  test('has its last ten values hidden, and no more', async () => {
    const { file, secrets, clock } = await watched('value-number-0')
    for (let nr = 1; nr <= 12; nr += 1) {
      await writeFile(file, `value-number-${nr}!`)
      await expect
        .poll(async () => {
          await clock.advance(2000)
          return secrets.get('KEY')
        })
        .toBe(`value-number-${nr}!`)
    }
    const shown = (nr: number) => secrets.redactor().text(`value-number-${nr}!`)
    expect([1, 2, 11, 12].map(shown)).toEqual(['value-number-1!', '[redacted]', '[redacted]', '[redacted]'])
  })

  test('gives the secret that was missing at the start', async () => {
    const { folder, secrets, later } = await watched('')
    await write(folder, { key: 'late-value' })
    await later()
    expect(secrets.get('KEY')).toBe('late-value')
  })

  test('is not read again after an end that comes while it is read', async () => {
    const { file, secrets, clock } = await watched('first-value')
    await writeFile(file, 'second-value')
    await clock.advance(2000)
    secrets.close()
    await expect.poll(() => secrets.get('KEY')).toBe('second-value')
    await nextTurn()
    expect(clock.pending).toEqual([])
  })

  test('is not read again after the end', async () => {
    const { secrets, clock } = await watched('value')
    secrets.close()
    expect(clock.pending).toEqual([])
  })
})
