import{d as a,e as b,f as c}from"./chunk-NDNVHOQZ.js";import"./chunk-LW3NMJBR.js";import"./chunk-L3J7622U.js";import"./chunk-QZEWKB3D.js";export{b as Entries,a as HistoryPage,c as idOf};
