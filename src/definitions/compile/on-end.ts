// definitions: compiles `onEnd`: the webhook that is called when a context of the service has ended.
import type { Json } from '../../model/json/value.ts'
import { signingSecretFault } from '../../model/webhook-schemes/standard.ts'
import type { OnEnd } from '../flux.ts'
import type { Visible } from '../lines/visible.ts'
import type { Report } from '../report.ts'
import { takeStrictly } from '../source/take.ts'
import { OnEndSchema } from '../source/webhook-schema.ts'
import { compileReference } from '../lines/secret-reference.ts'
import { compileText } from './templates.ts'

/** null: there is none, or after a fault. */
export function compileOnEnd(source: Json | undefined, visible: Visible, report: Report): OnEnd | null {
  if (source === undefined || source === null) return null
  const onEnd = takeStrictly(OnEndSchema, source, '/onEnd', report)
  if (onEnd === null) return null
  if (onEnd.secret == null) report.fault('/onEnd/secret', 'there is no secret')
  const secret =
    onEnd.secret == null ? null : compileReference(onEnd.secret, '/onEnd/secret', report, signingSecretFault)
  if (!onEnd.url.includes('${') && !isHttpUrl(onEnd.url))
    report.fault('/onEnd/url', 'must be a URL, https://…, or a template over the inputs that gives one')
  const url = compileText(onEnd.url, visible, '/onEnd/url', report)
  return url === null || secret === null ? null : { url, secret }
}

const isHttpUrl = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url)
