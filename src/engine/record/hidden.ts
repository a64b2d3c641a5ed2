// engine/record: which contexts a caller must not learn of, not even how many they are.
import type { Catalog } from '../../definitions/catalog.ts'
import { denial, type Caller, type Role } from '../../model/caller.ts'
import { SECURED, keyOfOpen } from './index-keys.ts'

/**
 * Index keys of the contexts for which the caller would need that role, and lacks it: their service was secured when
 * they were started, or is secured now.
 */
export function hiddenFrom(
  { catalog, caller }: { readonly catalog: Pick<Catalog, 'all'>; readonly caller: Pick<Caller, 'roles'> },
  role: Role,
): string[] {
  if (denial(caller, role) === null) return []
  const secured = catalog.all().filter((flux) => flux.secured)
  return [SECURED, ...secured.map(keyOfOpen)]
}
