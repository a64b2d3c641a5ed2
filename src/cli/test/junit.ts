// cli/test: what became of scenarios, in the form of JUnit, which other programs read.
import { XMLBuilder } from 'fast-xml-parser'
import { relative } from 'node:path'
import type { ScenarioResult } from '../../testing/scenario/suite.ts'
import { plainText } from '../remote/text.ts'
import { failureLines } from './text.ts'

const builder = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  format: true,
  suppressEmptyNode: true,
  suppressBooleanAttributes: false,
})

export const junitOf = (results: readonly ScenarioResult[]): string =>
  builder.build({
    '?xml': { '@version': '1.0', '@encoding': 'UTF-8' },
    testsuites: {
      testsuite: {
        '@name': 'actorflux',
        '@tests': results.length,
        '@failures': results.filter(({ ok }) => !ok).length,
        testcase: results.map(({ scenario, service, file, milliseconds, failure }) => {
          const path = relative('', file)
          return {
            '@name': plainText(scenario),
            '@classname': service ?? path,
            '@file': path,
            '@time': (milliseconds / 1000).toFixed(3),
            ...(failure && {
              failure: { '@message': plainText(failure.message), '#text': failureLines(failure, path).join('\n') },
            }),
          }
        }),
      },
    },
  })
