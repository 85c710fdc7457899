// Plotly adds style elements. The content security policy allows them only with the page's nonce.
const { nonce } = document.currentScript;
const create = document.createElement.bind(document);
document.createElement = (name, ...rest) => {
  const element = create(name, ...rest);
  if (name === "style") element.nonce = nonce;
  return element;
};
