import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { SETTINGS } from '../../src/settings.ts'
import { commandText } from './world.ts'

describe('the command line', () => {
  test.each(['--version', '-v'])('%s', async (flag) =>
    expect(await commandText([flag])).toEqual({ code: 0, out: manifest.version, err: '' }),
  )

  test.each(['--help', '-h', 'help'])('%s lists the commands', async (flag) => {
    const { code, out } = await commandText([flag])
    expect(code).toBe(0)
    for (const name of ['serve', 'dev', 'validate']) expect(out).toMatch(new RegExp(`^  ${name} `, 'm'))
  })

  test.each([
    ['fly', ''],
    ['constructor', ''],
    ['--port', ''],
    ['contxts', "; did you mean 'contexts'?"],
  ])('%s is no command', async (name, suggested) => {
    const { code, out, err } = await commandText([name])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe(`actorflux: there is no command ${name}${suggested} (see actorflux --help)`)
  })

  test('without a command, the help is told', async () => {
    const { code, out, err } = await commandText([])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^Usage: actorflux/)
  })

  test.each(['serve', 'dev'])('%s --help lists every setting with its default', async (name) => {
    const { code, out } = await commandText([name, '--help'])
    expect(code).toBe(0)
    for (const { variable, default: standard } of SETTINGS)
      expect(out).toMatch(new RegExp(`^  ${variable} +${standard ?? '–'} `, 'm'))
  })

  test.each([[['serve', '--fast']], [['serve', 'now']], [['validate', '--fast']]])(
    '%j is a mistake of usage',
    async (args) => {
      const { code, err } = await commandText(args)
      expect(code).toBe(2)
      expect(err).toMatch(new RegExp(`^actorflux: [^\n]* \\(see actorflux ${args[0]} --help\\)$`))
    },
  )

  test.each(['serve', 'dev'])("%s tells a bad port by the option's name", async (name) => {
    const { code, err } = await commandText([name, '--port', '80a'], { ACTORFLUX_PORT: '1' })
    expect({ code, err }).toEqual({
      code: 2,
      err: `actorflux: --port must be an integer from 0 to 65535 (see actorflux ${name} --help)`,
    })
  })

  test('serve tells what is no setting', async () => {
    const { code, err } = await commandText(['serve'], { ACTORFLUX_REQIRE_AUTH: 'true', ACTORFLUX_PORT: 'x' })
    expect(code).toBe(1)
    expect(err).toMatch(
      /^actorflux: warning: there is no setting ACTORFLUX_REQIRE_AUTH: [^\n]*\nactorflux: ACTORFLUX_PORT must [^\n]*$/,
    )
  })

  test('bad settings are told a line each', async () => {
    const { code, err } = await commandText(['serve'], { ACTORFLUX_PORT: 'x', ACTORFLUX_RETENTION: 'long' })
    expect(code).toBe(1)
    expect(err).toMatch(/^actorflux: ACTORFLUX_PORT must .*\nactorflux: ACTORFLUX_RETENTION must .*$/)
  })

  test.each([['ACTORFLUX_PARTITIONS', '4']])(
    'serve refuses %s=%s rather than leave it out',
    async (variable, value) => {
      const { code, err } = await commandText(['serve'], { [variable]: value })
      expect(code).toBe(1)
      expect(err).toMatch(new RegExp(`^actorflux: ${variable} [^\n]*$`))
    },
  )

  test('serve says in one line that Redis is not there, without the password', async () => {
    const { code, err } = await commandText(['serve'], { ACTORFLUX_REDIS_URL: 'redis://:s3cret@127.0.0.1:1' })
    expect(code).toBe(1)
    expect(err).toMatch(/^actorflux: Redis can't be reached at 127\.0\.0\.1:1: [^\n]*$/)
    expect(err).not.toContain('s3cret')
  })
})

describe('schema', () => {
  test('prints the schema of files on one line', async () => {
    const { code, out, err } = await commandText(['schema'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(JSON.parse(out)).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' })
    expect(out).not.toContain('\n')
  })
})
