// Maps with a list of values for each key.

/**
 * Appends to a list in a map.
 * @template K, V
 * @param {Map<K, V[]>} map
 * @param {K} key
 * @param {V} value
 */
export function put(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/**
 * Removes from a list in a map.
 * @template K, V
 * @param {Map<K, V[]>} map
 * @param {K} key
 * @param {V} value
 */
export function take(map, key, value) {
  const list = map.get(key)?.filter((one) => one !== value) ?? [];
  if (list.length) map.set(key, list);
  else map.delete(key);
}
