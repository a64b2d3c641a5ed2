// Checks the signature that GitHub puts on its webhooks (docs.github.com, "Validating webhook deliveries").
import { createHmac, timingSafeEqual } from 'node:crypto'

interface Flux {
  readonly rawBody: Uint8Array
  readonly log: { warn(message: string): void }
  execute(request: { fluxName: string; input: object }): Promise<{ contextId: number }>
}

/** Only for trying the example: a real secret is never in a file. */
const EXAMPLE_SECRET = 'it is a secret to everybody'

/** What becomes of the delivery is the event that the workflow goes on with. */
export function check({ signature }: { readonly signature: string | null }, { rawBody, log }: Flux): { event: 'signed' | 'forged' } {
  const secret = process.env['GITHUB_WEBHOOK_SECRET'] ?? EXAMPLE_SECRET
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(rawBody).digest('hex')}`)
  const given = Buffer.from(signature ?? '')
  if (given.length === expected.length && timingSafeEqual(given, expected)) return { event: 'signed' }
  log.warn('a delivery with a wrong signature')
  return { event: 'forged' }
}

/** Starts what takes longer, and doesn't wait for it. */
export async function deploy({ repository, commit }: { readonly repository: string; readonly commit: string }, flux: Flux): Promise<{ deployment: number }> {
  const { contextId } = await flux.execute({ fluxName: 'webhooks.Deployment', input: { repository, commit } })
  return { deployment: contextId }
}
