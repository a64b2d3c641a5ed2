// Reads the webhooks of GitHub, and checks their signature (docs.github.com, "Validating webhook deliveries").
import { createHmac, timingSafeEqual } from 'node:crypto'

interface Flux {
  readonly rawBody: Uint8Array
  readonly log: { warn(message: string): void }
  execute(request: { fluxName: string; input: object }): Promise<{ contextId: number }>
}

interface Delivery {
  readonly signature: string | null
  /** What happened, as the header X-GitHub-Event says it. */
  readonly event: string | null
  readonly body: unknown
}

interface Push {
  readonly repository: string
  readonly commit: string
}

/** Only for trying the example: a real secret is never in a file. */
const EXAMPLE_SECRET = 'it is a secret to everybody'

/** What becomes of the delivery is the event that the workflow goes on with. */
export function check(
  { signature, event, body }: Delivery,
  { rawBody, log }: Flux,
): { event: 'push' | 'other' | 'malformed' | 'forged' } & Partial<Push> {
  if (!isSigned(rawBody, signature)) {
    log.warn('a delivery with a wrong signature')
    return { event: 'forged' }
  }
  const payload = payloadOf(body)
  if (event === null || payload === null) return { event: 'malformed' }
  // A push that deletes a branch has no commit.
  if (event !== 'push' || payload['deleted'] === true) return { event: 'other' }
  const [{ full_name: repository } = {}, commit] = [fieldsOf(payload['repository']) ?? {}, payload['after']]
  if (
    typeof repository !== 'string' ||
    !/^[\w.-]+\/[\w.-]+$/.test(repository) ||
    typeof commit !== 'string' ||
    !/^[0-9a-f]+$/.test(commit)
  )
    return { event: 'malformed' }
  return { event: 'push', repository, commit }
}

function isSigned(rawBody: Uint8Array, signature: string | null): boolean {
  const secret = process.env['GITHUB_WEBHOOK_SECRET'] || EXAMPLE_SECRET
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(rawBody).digest('hex')}`)
  const given = Buffer.from(signature ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** GitHub sends JSON, or a form with JSON in the field `payload`, as the webhook is set up there. */
function payloadOf(body: unknown): Record<string, unknown> | null {
  const fields = fieldsOf(body)
  const text = fields?.['payload']
  if (typeof text !== 'string') return fields
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    return null
  }
}

const fieldsOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null ? { ...value } : null

/** Starts what takes longer, and doesn't wait for it. */
export async function deploy({ repository, commit }: Push, flux: Flux): Promise<{ deployment: number }> {
  const { contextId } = await flux.execute({ fluxName: 'webhooks.Deployment', input: { repository, commit } })
  return { deployment: contextId }
}
