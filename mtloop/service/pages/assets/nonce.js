// Plotly makes style elements of its own; the policy lets in only those that carry the page's nonce.
const { nonce } = document.currentScript;
const create = document.createElement.bind(document);
document.createElement = (name, ...rest) => {
  const element = create(name, ...rest);
  if (name === "style") element.nonce = nonce;
  return element;
};
