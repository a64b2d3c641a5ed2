// engine: creates what claims steps that are ready, out of the parts of an engine.
import type { EngineParts } from '../engine-parts.ts'
import { Claims, type ClaimsParts } from './claims.ts'
import { ReadyHints } from './ready-hints.ts'

interface ClaimingParts extends Pick<ClaimsParts, 'admission' | 'recovery'> {
  readonly given: EngineParts
  readonly identity: { readonly owner: string }
  readonly gate: { readonly isClosed: boolean }
}

export function claimsOf({ given, admission, recovery, identity, gate }: ClaimingParts): Claims {
  const { store, clock, log, slots, others } = given
  const hints = new ReadyHints({ feed: others?.feed ?? null, clock })
  return new Claims({
    store,
    clock,
    log,
    slots,
    admission,
    recovery,
    hints,
    owner: () => identity.owner,
    isHeld: () => gate.isClosed,
  })
}
